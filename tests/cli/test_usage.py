"""The command line itself: help, options of every command, errors, exit codes."""

import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from jobman_cli import plugins
from jobman_cli.commands import SECTIONS
from jobman_core.errors import (
    ConfigError,
    Fault,
    HeldError,
    JobmanError,
    NotFoundError,
    NotYoursError,
)

if TYPE_CHECKING:
    from tests.cli.conftest import Cli, FakeApp

COMMANDS = [name for _, names in SECTIONS for name in names]


def test_help_names_every_command(cli: "Cli", capsys: pytest.CaptureFixture[str]) -> None:
    assert cli("--help").code == 0
    out, err = capsys.readouterr()
    assert err == ""
    for name in COMMANDS:
        assert f"\n  {name} " in out
    assert "..." not in out.partition("\nJobs:")[2], "a summary was cut"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_each_command_has_an_example(
    cli: "Cli", name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli(name, "--help").code == 0
    out = capsys.readouterr().out
    assert f"\nExamples:\n  $ jobman {name}" in out
    assert all(len(line) <= 80 for line in out.splitlines())


def test_help_of_each_command_that_a_plugin_brings_has_an_example() -> None:
    def see(command: Any, path: str) -> None:
        assert f"$ {path}" in (command.epilog or ""), path
        if not hasattr(command, "list_commands"):
            return
        for name in command.list_commands(None):
            see(command.get_command(None, name), f"{path} {name}")

    brought = plugins.load_all((), complain=pytest.fail)
    assert brought
    for name, command in brought.items():
        see(command, f"jobman {name}")


def test_without_a_command_help_is_shown_as_an_error(cli: "Cli") -> None:
    code, out, err = cli()
    assert (code, out) == (2, "")
    assert err.startswith("Usage: jobman")


def test_version(cli: "Cli") -> None:
    code, out, _ = cli("--version")
    assert code == 0
    assert out.startswith("jobman 0.")


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["lits"], "there is no command 'lits': did you mean list?"),
        (["val", "x"], "there is no command 'val': did you mean validate?"),
        (["zzzz"], "there is no command 'zzzz': see `jobman --help`"),
        (["list", "--mien"], "there is no option --mien: did you mean --mine?"),
        (["list", "--zzzz"], "there is no option --zzzz: see `jobman list --help`"),
        (["list", "--jsn"], "there is no option --jsn: did you mean --json?"),
        (["show"], "missing argument 'ID': see `jobman show --help`"),
        (["--home"], "option '--home' requires an argument: see `jobman --help`"),
        (["logs"], "logs of what: give a job's id, or --task"),
        (["logs", "1", "--task", "a"], "a job's id and --task: give one of them"),
        (["logs", "1", "--queue", "q"], "--queue says where a task is: give --task as well"),
        (
            ["logs", "--task", "a", "--controller"],
            "--controller belongs to a job: give its id instead of --task",
        ),
        (
            ["logs", "1", "-f", "--json"],
            "--json cannot follow, since its document ends with the log: leave out -f",
        ),
        (["create", "job.yaml", "--count", "0"], "--count 0: create at least 1 job"),
        (
            ["queue", "--reset-all", "--reset-failed"],
            "--reset-all and --reset-failed at once: give one of them",
        ),
        (["resume"], "resume what: give ids, or --all"),
        (["resume", "1", "--all"], "--all and ids: give one of them"),
        (
            ["queue", "--done", "a", "--prioritize", "b"],
            "--prioritize and --done at once: give one of them",
        ),
    ],
)
def test_bad_usage_is_one_line_and_2(cli: "Cli", argv: list[str], line: str) -> None:
    assert cli(*argv) == (2, "", f"error: {line}\n")


def test_a_number_that_is_none_is_told(cli: "Cli") -> None:
    code, out, err = cli("create", "job.yaml", "--count", "many")
    assert (code, out) == (2, "")
    assert err.startswith("error: invalid value for '--count': 'many' is not a valid int")
    assert err.endswith(": see `jobman create --help`\n")


@pytest.mark.parametrize("argv", [["--json", "list"], ["list", "--json"]])
def test_json_may_stand_before_and_after_the_command(cli: "Cli", argv: list[str]) -> None:
    assert cli(*argv) == (0, "[]\n", "")


@pytest.mark.parametrize("before", [True, False])
def test_home_may_stand_before_and_after_the_command(
    cli: "Cli", app: "FakeApp", tmp_path: Path, before: bool
) -> None:
    option = ["--home", str(tmp_path)]
    cli(*([*option, "list"] if before else ["list", *option]))
    assert app.opened == [(tmp_path, False)]


def test_a_home_that_was_named_and_is_not_there_is_not_shown_as_an_empty_one(
    cli: "Cli", tmp_path: Path
) -> None:
    there, gone = tmp_path / "file", tmp_path / "gone"
    there.touch()
    end = ", or let `jobman create` make a home there\n"
    assert cli("--home", str(gone), "list") == (
        3,
        "",
        f"error: the home {gone} does not exist: check --home{end}",
    )
    assert cli("list", env={"JOBMAN_HOME": str(there)}) == (
        3,
        "",
        f"error: the home {there} is no folder: check JOBMAN_HOME{end}",
    )
    assert cli("--home", "~nobody-here/lab", "list") == (
        3,
        "",
        f"error: the home ~nobody-here/lab does not exist: check --home{end}",
    )


def test_h_is_help(cli: "Cli", capsys: pytest.CaptureFixture[str]) -> None:
    for argv in (["-h"], ["list", "-h"]):
        assert cli(*argv).code == 0
        assert capsys.readouterr().out.startswith("Usage: jobman")


def test_on_a_terminal_an_error_is_broken_between_words(cli: "Cli", app: "FakeApp") -> None:
    text = "the cloud refused what it was asked for, " * 3 + "in a/path/" + "x" * 60
    app.errors["run", "1"] = JobmanError(text)
    assert cli("run", "1").err == f"error: {text}\n"
    lines = cli("run", "1", tty=True, columns=40).err.splitlines()
    assert " ".join(line.strip() for line in lines) == f"error: {text}"
    assert all(len(line) <= 40 for line in lines[:-1])
    assert lines[-1] == "       a/path/" + "x" * 60


def test_colours_are_for_terminals_that_want_them(cli: "Cli", app: "FakeApp") -> None:
    app.add_job("000001")
    assert "\x1b[" in cli.colours("list").out
    assert "\x1b[" not in cli.colours("list", tty=False).out
    assert "\x1b[" not in cli.colours("list", "--no-color").out
    assert "\x1b[" not in cli("list", tty=True).out, "NO_COLOR was set"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (JobmanError("the cloud refused: ask for less"), 1),
        (NotFoundError("there is no job 9: look at the list"), 3),
        (NotYoursError("it is bob's: ask him"), 4),
        (HeldError("a controller has it: stop it first"), 4),
    ],
)
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_an_expected_error_is_one_line_and_its_code(
    cli: "Cli", app: "FakeApp", error: Exception, code: int, flags: list[str]
) -> None:
    app.errors["run", "1"] = error
    assert cli("run", "1", *flags) == (code, "", f"error: {error}\n")


def test_a_bad_file_is_a_line_for_each_fault(cli: "Cli", app: "FakeApp") -> None:
    faults = [
        Fault("job.yaml", 4, 3, "tpu.zon", "there is no such key (did you mean zone?)"),
        Fault("job.yaml", 2, 3, "job.loop", "write true or false"),
    ]
    app.errors["create", Path("job.yaml")] = ConfigError(faults)
    assert cli("create", "job.yaml") == (
        2,
        "",
        (
            "job.yaml:2:3: job.loop: write true or false\n"
            "job.yaml:4:3: tpu.zon: there is no such key (did you mean zone?)\n"
        ),
    )


def test_an_unexpected_error_is_a_line_too_and_v_has_the_traceback(
    cli: "Cli", app: "FakeApp"
) -> None:
    app.errors["run", "1"] = ZeroDivisionError("oh\nno")
    line = (
        "error: internal: ZeroDivisionError: oh no: please report it;"
        " run with -v for the traceback\n"
    )
    assert cli("run", "1") == (1, "", line)
    code, out, err = cli("run", "1", "-v")
    assert (code, out) == (1, "")
    assert err.startswith(line + "Traceback")


def test_what_the_core_logs_is_told_as_warnings_are(
    cli: "Cli", app: "FakeApp", monkeypatch: pytest.MonkeyPatch
) -> None:
    async def listed(*_args: object, **_options: object) -> list[object]:
        logging.getLogger("jobman_core.queue").warning("%s is odd", "task \x1b[2Ja")
        logging.getLogger("jobman_core.queue").info("the rest is not")
        return []

    monkeypatch.setattr(app, "list", listed)
    assert cli("-q", "list").err.startswith("warning: task \\x1b[2Ja is odd\n")
    assert "info: the rest is not\n" in cli("-v", "list").err


def test_a_folder_that_cannot_be_written_is_no_bug(cli: "Cli", app: "FakeApp") -> None:
    app.errors["run", "1"] = PermissionError(13, "Permission denied", "/h/jobs")
    code, _, err = cli("run", "1")
    assert code == 1
    assert err.startswith("error: /h/jobs: Permission denied: make sure")


def test_several_errors_at_once_are_a_line_each(cli: "Cli", app: "FakeApp") -> None:
    app.errors["run", "1"] = ExceptionGroup(
        "both", [NotFoundError("a is gone: b"), JobmanError("c: d")]
    )
    assert cli("run", "1") == (3, "", "error: a is gone: b\nerror: c: d\n")


def test_an_error_cannot_steer_the_terminal(cli: "Cli", app: "FakeApp") -> None:
    app.errors["run", "1"] = JobmanError("no \x1b[2J: really")
    assert cli("run", "1").err == "error: no \\x1b[2J: really\n"


def test_an_interrupted_command_is_quiet_and_130(cli: "Cli", app: "FakeApp") -> None:
    app.errors["queue", None] = KeyboardInterrupt()
    assert cli("queue") == (130, "", "")


def test_notes_are_left_out_with_q(cli: "Cli") -> None:
    assert cli("list").err.startswith("no jobs: ")
    assert cli("list", "-q") == (0, "", "")


def test_a_reader_that_goes_away_is_no_error() -> None:
    program = (
        "import sys\n"
        "from jobman_cli.main import main\n"
        "sys.argv = ['jobman', '--help']\n"
        "sys.stdout.reconfigure(write_through=False)\n"
        "sys.exit(main())\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    child.stdout.close()
    assert child.stderr is not None
    with child.stderr as stderr:
        assert stderr.read() == ""
    assert child.wait() == 141


def test_help_loads_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from jobman_cli.main import main\n"
        "sys.argv = ['jobman', '--help']\n"
        "assert main() == 0\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert loaded.isdisjoint(
        {"asyncio", "attr", "attrs", "cattrs", "google", "grpc", "rich", "ruamel", "slack_sdk"}
        | {"slack_bolt", "sqlite3", "pydantic"}
    )
    core = {name for name in done.stderr.split() if name.startswith("jobman_core.")}
    assert not core


def test_a_document_is_json_on_any_terminal(cli: "Cli", app: "FakeApp") -> None:
    app.add_job("000001", name="größe")
    out = cli.colours("list", "--json").out
    assert out.isascii()
    assert json.loads(out)[0]["name"] == "größe"
