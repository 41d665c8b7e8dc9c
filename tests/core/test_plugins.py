"""Plugins: found by entry point, isolated, listed, and never able to keep jobs from running."""

import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jobman_core import hookimpl, hookspecs
from jobman_core.builtin import builtins
from jobman_core.errors import InvalidInputError
from jobman_core.interfaces.backend import Backend
from jobman_core.interfaces.cloud import Cloud
from jobman_core.interfaces.environment import Environment
from jobman_core.interfaces.notifier import Notifier
from jobman_core.interfaces.session import Session
from jobman_core.interfaces.storage import Storage
from jobman_core.interfaces.store import Store
from jobman_core.plugins import KINDS, Plugins

BASES = {
    "cloud": Cloud,
    "session": Session,
    "environment": Environment,
    "storage": Storage,
    "store": Store,
    "notifier": Notifier,
}
HOOKS = [name for name in vars(hookspecs) if name.startswith("jobman_")]


def bringing(kind: str, *names: str) -> object:
    """Give a plugin that brings backends of one kind."""
    classes = [type(name.title(), (BASES[kind],), {"name": name}) for name in names]

    class Plugin:
        pass

    def hook(self: object) -> list[type[Backend]]:
        return classes

    setattr(Plugin, KINDS[kind], hookimpl(hook))
    return Plugin()


@pytest.mark.parametrize("name", HOOKS)
def test_every_hook_says_what_it_is_for_and_has_types(name: str) -> None:
    hook = getattr(hookspecs, name)
    assert inspect.getdoc(hook)
    signature = inspect.signature(hook)
    assert signature.return_annotation is not inspect.Signature.empty
    assert all(p.annotation is not p.empty for p in signature.parameters.values())


def test_every_hook_is_used_by_a_test() -> None:
    tests = Path(__file__).parents[1]
    text = "".join(path.read_text(encoding="utf-8") for path in tests.rglob("test_*.py"))
    registered = set(KINDS.values()) | {"jobman_problems"}
    assert [name for name in HOOKS if name not in text and name not in registered] == []


def test_the_built_ins_come_through_the_same_hooks() -> None:
    rows = {(row.kind, row.name): row for row in Plugins(builtins).rows()}
    for key in (("cloud", "local"), ("session", "process"), ("store", "sqlite")):
        assert rows[key].distribution == "jobman-core"
        assert rows[key].version
        assert rows[key].error is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_backend_of_every_kind_is_found_by_its_name(kind: str) -> None:
    plugins = Plugins()
    plugins.add("mine", bringing(kind, "mine"), distribution="jobman-mine", version="1.2")
    assert plugins.get(kind, "mine", BASES[kind]).name == "mine"
    assert "mine" in plugins.names(kind)


def test_a_second_backend_of_one_name_is_refused_and_both_providers_are_named() -> None:
    plugins = Plugins()
    plugins.add("first", bringing("cloud", "moon"), distribution="jobman-first")
    plugins.add("second", bringing("cloud", "moon"), distribution="jobman-second")
    (row,) = [row for row in plugins.rows() if row.error]
    assert (row.name, row.distribution) == ("moon", "jobman-second")
    assert "jobman-first" in (row.error or "")


def test_what_is_no_backend_is_refused() -> None:
    class Odd:
        @hookimpl
        def jobman_clouds(self) -> list[object]:
            return ["not a class"]

    plugins = Plugins()
    plugins.add("odd", Odd(), distribution="jobman-odd")
    assert "not a backend class" in next(row.error or "" for row in plugins.rows() if row.error)


def test_a_backend_that_is_not_installed_names_what_to_install() -> None:
    with pytest.raises(InvalidInputError, match="install jobman-gcp"):
        Plugins(disabled="gcp").get("cloud", "gcp", Cloud)  # type: ignore[type-abstract]


@pytest.fixture
def distribution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str, str], None]]:
    """Give a way to install a distribution with one plugin."""

    def install(name: str, code: str) -> None:
        module = name.replace("-", "_")
        (tmp_path / f"{module}.py").write_text(code)
        info = tmp_path / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[jobman]\n{module} = {module}\n")

    monkeypatch.syspath_prepend(str(tmp_path))
    yield install
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)


GOOD = """
from jobman_core import hookimpl
from jobman_core.interfaces.notifier import Notifier

class Pigeon(Notifier):
    name = "pigeon"
    async def deliver(self, events):
        pass

@hookimpl
def jobman_notifiers():
    return [Pigeon]
"""


def test_an_installed_plugin_is_found_by_its_entry_point(
    distribution: Callable[[str, str], None],
) -> None:
    distribution("jobman-pigeon", GOOD)
    row = next(row for row in Plugins().rows() if row.name == "pigeon")
    assert (row.kind, row.distribution, row.version) == ("notifier", "jobman-pigeon", "1.0")


IMPORT = "from jobman_core import hookimpl\n@hookimpl\n"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import nothing_of_that_name", "ModuleNotFoundError"),
        ("raise SystemExit(3)", "SystemExit"),
        (
            IMPORT + "def jobman_nonsense(): ...",
            "jobman_nonsense",
        ),
        (
            IMPORT + "def jobman_clouds():\n    raise OSError('no')",
            "OSError",
        ),
    ],
)
def test_a_plugin_that_fails_is_a_row_and_the_others_work(
    distribution: Callable[[str, str], None], code: str, expected: str
) -> None:
    distribution("jobman-broken", code)
    plugins = Plugins(builtins)
    assert expected in next(row.error or "" for row in plugins.rows() if row.error)
    assert plugins.has("cloud", "local")


def test_plugins_can_be_switched_off(
    distribution: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    distribution("jobman-pigeon", GOOD)
    monkeypatch.setenv("JOBMAN_DISABLED_PLUGINS", "jobman_pigeon, other")
    plugins = Plugins.from_environment(builtins)
    assert not plugins.has("notifier", "pigeon")
    assert ("jobman_pigeon", "switched off") in [(r.name, r.error) for r in plugins.rows()]


def test_a_judgement_that_raises_is_passed_over_and_the_next_one_is_asked() -> None:
    class Broken:
        @hookimpl
        def jobman_place(self) -> None:
            raise RuntimeError

    class Calm:
        @hookimpl
        def jobman_place(self, context: Any) -> Any:
            return ("calm", context)

    plugins = Plugins()
    plugins.add("calm", Calm(), distribution="x")
    plugins.add("broken", Broken(), distribution="x")
    assert plugins.judge("jobman_place", context=7) == ("calm", ("calm", 7))
