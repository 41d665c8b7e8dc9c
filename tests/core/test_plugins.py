"""Plugins: found by entry point, isolated, listed, and never able to keep jobs from running."""

import ast
import asyncio
import inspect
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
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
from jobman_core.interfaces.problem import HostProblem
from jobman_core.interfaces.session import Session
from jobman_core.interfaces.storage import Storage
from jobman_core.interfaces.store import Store
from jobman_core.models.outcome import Outcome, OutcomeKind
from jobman_core.models.place import GiveUp, Place, Wait
from jobman_core.plugins import KINDS, ROOM, Plugins

BASES = {
    "cloud": Cloud,
    "session": Session,
    "environment": Environment,
    "storage": Storage,
    "store": Store,
    "notifier": Notifier,
}
HOOKS = [name for name in vars(hookspecs) if name.startswith("jobman_")]
_HERE = "core/test_plugins.py"
_RUN = "core/run/test_controller.py"
#: hook: the test that shows what it does.
SHOWN = {
    "jobman_clouds": (_HERE, "test_a_backend_of_every_kind_is_found_by_its_name"),
    "jobman_sessions": (_HERE, "test_a_backend_of_every_kind_is_found_by_its_name"),
    "jobman_environments": (_HERE, "test_a_backend_of_every_kind_is_found_by_its_name"),
    "jobman_storages": (_HERE, "test_a_backend_of_every_kind_is_found_by_its_name"),
    "jobman_stores": (_HERE, "test_a_backend_of_every_kind_is_found_by_its_name"),
    "jobman_notifiers": (_HERE, "test_an_installed_plugin_is_found_by_its_entry_point"),
    "jobman_problems": (_HERE, "test_checks_on_hosts_are_listed"),
    "jobman_classify_exit": (
        _RUN,
        "test_a_plugins_verdict_names_the_plugin_and_makes_no_success_of_a_failure",
    ),
    "jobman_classify_running": (_RUN, "test_a_plugin_can_end_a_program_by_what_it_says"),
    "jobman_place": (_RUN, "test_a_plugin_chooses_where_to_ask_for_a_slice"),
    "jobman_job_changed": (
        _RUN,
        "test_plugins_hear_of_changes_and_their_failures_are_contained",
    ),
    "jobman_task_changed": (
        _RUN,
        "test_plugins_hear_of_changes_and_their_failures_are_contained",
    ),
}


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


def test_every_hook_has_a_test_that_shows_what_it_does() -> None:
    assert sorted(SHOWN) == sorted(HOOKS)
    tests = Path(__file__).parents[1]
    for path, name in SHOWN.values():
        tree = ast.parse((tests / path).read_text(encoding="utf-8"))
        assert name in [getattr(node, "name", None) for node in tree.body], f"{path}: no {name}"


def test_the_built_ins_come_through_the_same_hooks() -> None:
    rows = {(row.kind, row.name): row for row in Plugins(builtins).rows()}
    for key in (("cloud", "local"), ("session", "process"), ("store", "sqlite")):
        assert rows[key].distribution == "jobman-core"
        assert rows[key].version
        assert rows[key].error is None


@pytest.mark.parametrize("kind", BASES)
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
from jobman_core.interfaces.problem import HostProblem

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


def test_checks_on_hosts_are_listed() -> None:
    class Checks:
        @hookimpl
        def jobman_problems(self) -> list[object]:
            return [HostProblem("disk", "test -w /"), "no check"]

    plugins = Plugins()
    plugins.add("checks", Checks(), distribution="jobman-checks", version="3")
    row, bad = (row for row in plugins.rows() if row.distribution == "jobman-checks")
    assert (row.kind, row.name, row.version, row.error) == ("problem", "disk", "3", None)
    assert "not a host problem" in (bad.error or "")


def test_a_plugin_that_only_judges_or_listens_is_listed_by_its_own_name() -> None:
    plugins = Plugins()
    plugins.add("teller", Teller(), distribution="jobman-teller", version="1")
    plugins.add("placer", Placer(None), distribution="jobman-placer", version="2")
    mine = ("jobman-teller", "jobman-placer")
    rows = [(row.kind, row.name, row.version) for row in plugins.rows() if row.distribution in mine]
    assert rows == [("plugin", "placer", "2"), ("plugin", "teller", "1")]


class Placer:
    """Chooses what it is given; an exception it raises."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    @hookimpl
    def jobman_place(self) -> Any:
        if isinstance(self.answer, threading.Event):
            self.answer.wait()
            return GiveUp("too late")
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class Teller:
    """Hears of jobs; at the first it may hang."""

    def __init__(self, free: threading.Event | None = None) -> None:
        self.free, self.heard = free, list[object]()

    @hookimpl
    def jobman_job_changed(self, job: object) -> None:
        self.heard.append(job)
        if self.free is not None:
            self.free.wait()


@pytest.fixture
def hanging() -> Iterator[threading.Event]:
    """Give what hooks wait for, as long as the test takes."""
    free = threading.Event()
    yield free
    free.set()


async def ask(plugins: Plugins, *, limit: float = 30) -> tuple[str, Place | Wait | GiveUp] | None:
    async with asyncio.timeout(limit):
        return await plugins.judge(
            "jobman_place",
            expect=(Place, Wait, GiveUp),
            refuse=lambda answer: "no" if answer == GiveUp("refused") else "",
            context=None,
        )


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (RuntimeError("a bug"), "a bug"),
        (SystemExit(3), "failed"),
        ("here", "str is not what this hook gives"),
        (GiveUp("refused"), "passed over in jobman_place: no"),
    ],
)
async def test_a_judgement_that_cannot_be_used_is_logged_and_the_next_plugin_is_asked(
    caplog: pytest.LogCaptureFixture, answer: object, said: str
) -> None:
    plugins = Plugins()
    plugins.add("calm", Placer(Wait(1, "calm")), distribution="x")
    plugins.add("broken", Placer(answer), distribution="x")
    assert await ask(plugins) == ("calm", Wait(1, "calm"))
    assert "broken" in caplog.text
    assert said in caplog.text


async def test_a_judgement_that_hangs_is_none_and_its_plugin_is_left_out_until_it_is_back(
    caplog: pytest.LogCaptureFixture, hanging: threading.Event
) -> None:
    plugins = Plugins(limit=0.2)
    placer = Placer(hanging)
    plugins.add("slow", placer, distribution="x")
    asked = asyncio.create_task(ask(plugins))
    # The loop is free meanwhile: this would hang as well.
    await asyncio.sleep(0)
    assert not asked.done()
    assert await asked is None
    assert "plugin slow takes more than 0.2 s in jobman_place" in caplog.text
    placer.answer = Wait(1, "back")
    assert await ask(plugins) is None
    (thread,) = (t for t in threading.enumerate() if t.name == "slow-jobman_place")
    hanging.set()
    thread.join(30)
    assert await ask(plugins) == ("slow", Wait(1, "back"))


async def test_an_event_hook_that_hangs_holds_nobody_up(
    caplog: pytest.LogCaptureFixture, hanging: threading.Event
) -> None:
    plugins = Plugins(limit=0.2)
    calm, slow = Teller(), Teller(hanging)
    plugins.add("calm", calm, distribution="x")
    plugins.add("slow", slow, distribution="x")
    for number in range(5):
        await plugins.tell("jobman_job_changed", job=number, old=None, new=None)
    assert calm.heard == []
    await plugins.settle(0.01)
    assert calm.heard == [], "settle waited for the one that hangs"
    await plugins.settle(30)
    assert (calm.heard, slow.heard) == ([0, 1, 2, 3, 4], [0])
    assert "plugin slow takes more than 0.2 s" in caplog.text


async def test_events_that_find_no_room_are_dropped_with_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    plugins = Plugins()
    teller = Teller()
    plugins.add("teller", teller, distribution="x")
    for number in range(ROOM + 2):
        await plugins.tell("jobman_job_changed", job=number, old=None, new=None)
    assert caplog.text.count("too slow") == 2
    await plugins.settle(30)
    assert teller.heard == list(range(ROOM))


def test_a_process_ends_while_a_plugin_hangs() -> None:
    script = """
import asyncio, threading
from jobman_core import hookimpl
from jobman_core.plugins import Plugins

class Slow:
    @hookimpl
    def jobman_job_changed(self):
        print("heard", flush=True)
        threading.Event().wait()

async def main():
    plugins = Plugins()
    plugins.add("slow", Slow(), distribution="x")
    await plugins.tell("jobman_job_changed", job=1, old=None, new=None)
    await plugins.settle(1)

asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "heard\n", "")


def test_an_answer_of_wrong_parts_cannot_be_made() -> None:
    """So it is the plugin that fails, not who reads the answer."""
    with pytest.raises(TypeError):
        Outcome("failed", "x")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Outcome(OutcomeKind.FAILED, "x", (), RuntimeError())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="> 0"):
        Wait(0, "spins")
    with pytest.raises(TypeError):
        Wait("soon", "no number")  # type: ignore[arg-type]


def test_whoever_asks_while_plugins_are_being_loaded_gets_all_of_them() -> None:
    begun, go = threading.Event(), threading.Event()

    def slow() -> dict[str, object]:
        begun.set()
        go.wait()
        return dict(builtins())

    plugins = Plugins(slow)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(plugins.names, "cloud")
        begun.wait()
        second = pool.submit(plugins.names, "cloud")
        go.set()
        assert "local" in first.result()
        assert "local" in second.result()
