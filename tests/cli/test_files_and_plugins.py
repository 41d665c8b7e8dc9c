"""``validate``, ``plugins``, commands of plugins, and what the shell completes."""

import json
import types
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest
import typer

from jobman_cli import completion, plugins
from jobman_core import hookimpl
from jobman_core.errors import Fault, InvalidInputError

if TYPE_CHECKING:
    from tests.cli.conftest import Cli, FakeApp


class TestValidate:
    def test_a_good_file_is_ok(self, cli: "Cli", app: "FakeApp") -> None:
        assert cli("validate", "a.yaml", "b.yaml") == (0, "a.yaml: ok\nb.yaml: ok\n", "")
        assert app.calls == [("validate", Path("a.yaml"), Path("b.yaml"))]

    def test_notes_are_told_once_beside_what_is_read(self, cli: "Cli", app: "FakeApp") -> None:
        app.notes = ("ships 2 files, 3 B, of /here, to ~/here",)
        said = f"note: {app.notes[0]}\n"
        assert cli("validate", "a.yaml", "b.yaml") == (0, "a.yaml: ok\nb.yaml: ok\n", said)
        assert cli("validate", "a.yaml", "--json") == (0, "[]\n", said)

    def test_faults_are_lines_and_2(self, cli: "Cli", app: "FakeApp") -> None:
        app.faults = [Fault("a.yaml", 3, 1, "tpu", "write a map")]
        said = "a.yaml:3:1: tpu: write a map\n"
        assert cli("validate", "a.yaml", "b.yaml") == (2, "b.yaml: ok\n", said)

    def test_as_json(self, cli: "Cli", app: "FakeApp") -> None:
        assert cli("validate", "a.yaml", "--json") == (0, "[]\n", "")
        app.faults = [Fault("a.yaml", 3, 1, "tpu", "write a map")]
        code, out, err = cli("validate", "a.yaml", "--json")
        assert (code, err) == (2, "a.yaml:3:1: tpu: write a map\n")
        fault = {"path": "a.yaml", "line": 3, "column": 1, "key": "tpu", "message": "write a map"}
        assert json.loads(out) == [fault]


class TestSchema:
    def test_it_is_one_document(self, cli: "Cli") -> None:
        said = '{\n  "title": "the schema of job"\n}\n'
        assert cli("schema", "job") == (0, said, "")
        assert cli("schema", "job", "--json") == (0, said, "")

    def test_another_kind_of_file_is_refused(self, cli: "Cli", app: "FakeApp") -> None:
        app.errors["schema", "jobs"] = InvalidInputError("no schema is called 'jobs': write job")
        assert cli("schema", "jobs") == (2, "", "error: no schema is called 'jobs': write job\n")


class TestPlugins:
    def test_lists_what_is_there_and_what_failed(
        self, cli: "Cli", monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # A command of another distribution would have a row, too, and make columns wider.
        monkeypatch.setenv("JOBMAN_DISABLED_PLUGINS", "emulator")
        lines = cli("plugins").out.splitlines()
        assert lines[:3] == [
            "KIND    NAME    FROM           VERSION  PROBLEM",
            "cloud   local   jobman-core    0.1.0",
            "plugin  broken  jobman-broken  2.0      ImportError: no module named x",
        ]

    def test_as_json(self, cli: "Cli") -> None:
        local = json.loads(cli("plugins", "local", "--json").out)
        assert local == [
            {
                "kind": "cloud",
                "name": "local",
                "distribution": "jobman-core",
                "version": "0.1.0",
                "error": None,
            }
        ]

    def test_one_that_is_not_there_is_3(self, cli: "Cli") -> None:
        code, out, err = cli("plugins", "nope")
        assert (code, out) == (3, "")
        assert err.startswith("error: there is no plugin 'nope': ")


class Point(metadata.EntryPoint):
    """An entry point of a plugin that is not installed."""

    def __new__(cls, name: str, plugin: Callable[[], object]) -> Self:
        return super().__new__(cls)

    def __init__(self, name: str, plugin: Callable[[], object]) -> None:
        super().__init__(name, "x:y", "jobman.cli")
        object.__setattr__(self, "load", plugin)


def plugin(fill: Callable[[typer.Typer], None]) -> Callable[[], object]:
    module = types.SimpleNamespace()

    @hookimpl
    def jobman_cli_commands(app: typer.Typer) -> None:
        fill(app)

    module.jobman_cli_commands = jobman_cli_commands
    return lambda: module


def hello(app: typer.Typer) -> None:
    @app.command()
    def hello(ctx: typer.Context, name: str) -> None:
        """Greet."""
        ctx.obj.say(f"hello {name}, json {ctx.obj.json}")

    @app.command("list")
    def another_list() -> None:
        """Take a name that is taken."""


def broken() -> object:
    msg = "no module named\nx"
    raise ImportError(msg)


class TestCommandsOfPlugins:
    def test_each_plugin_is_loaded_alone_and_its_failure_is_a_row(self) -> None:
        def raises(app: typer.Typer) -> None:
            raise ZeroDivisionError

        points = [
            Point("greeter", plugin(hello)),
            Point("broken", broken),
            Point("worse", plugin(raises)),
            Point("again", plugin(hello)),
        ]
        commands, rows = plugins.load(points, {"list"})
        assert list(commands) == ["hello"]
        assert [(row.name, row.error) for row in rows] == [
            ("hello", None),
            ("list", "there is a command 'list' already"),
            ("broken", "ImportError: no module named"),
            ("worse", "ZeroDivisionError: "),
            ("hello", "there is a command 'hello' already"),
            ("list", "there is a command 'list' already"),
        ]

    def test_a_command_of_a_plugin_takes_the_options_of_every_command(self, cli: "Cli") -> None:
        from jobman_cli.main import build

        commands, _ = plugins.load([Point("greeter", plugin(hello))], ())
        front = cli.front()
        group = build(front)
        group.load_more = lambda: commands
        with group.make_context("jobman", ["hello", "bob", "--json"], obj=front) as context:
            group.invoke(context)
        out: Any = front.stdout
        assert out.text() == "hello bob, json True\n"

    def test_help_has_them_in_a_section_of_their_own(self, cli: "Cli") -> None:
        from jobman_cli.main import build

        commands, _ = plugins.load([Point("greeter", plugin(hello))], {"list"})
        group = build(cli.front())
        group.load_more = lambda: commands
        text = group.make_context("jobman", [], obj=cli.front(), resilient_parsing=True).get_help()
        assert "\n\nPlugins:\n  hello      Greet." in text

    def test_one_that_is_switched_off_is_not_loaded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(
            metadata, "entry_points", lambda **_: [Point("a", broken), Point("b", broken)]
        )
        monkeypatch.setenv("JOBMAN_DISABLED_PLUGINS", "b, c")
        assert [point.name for point in plugins.entry_points()] == ["a"]


class TestCompletion:
    def context(self, cli: "Cli", **params: object) -> typer.Context:
        return typer.Context(
            typer.main.get_command(_app()), obj=cli.front(), resilient_parsing=True
        )

    def test_ids_of_jobs(self, cli: "Cli", app: "FakeApp") -> None:
        app.add_job("000001")
        app.add_job("000012")
        offers = completion.jobs(self.context(cli), "00001")
        assert offers == [("000012", "hello_000012 RUNNING")]

    def test_ids_of_tasks_of_the_queue_that_is_named(self, cli: "Cli", app: "FakeApp") -> None:
        app.add_task("train")
        app.add_task("tune")
        context = self.context(cli)
        context.params["file"] = "q.yaml"
        assert completion.tasks(context, "tr") == [("train", "PENDING")]
        assert app.calls == [("queue", Path("q.yaml"))]

    def test_names_of_plugins(self, cli: "Cli") -> None:
        assert completion.plugins(self.context(cli), "lo") == [("local", "cloud")]

    def test_is_silent_whatever_happens(
        self, cli: "Cli", app: "FakeApp", capfd: pytest.CaptureFixture[str]
    ) -> None:
        app.errors["queue", None] = ZeroDivisionError()
        assert completion.tasks(self.context(cli), "") == []
        assert capfd.readouterr() == ("", "")


def _app() -> typer.Typer:
    app = typer.Typer()
    app.command()(lambda: None)
    return app
