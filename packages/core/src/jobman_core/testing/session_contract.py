"""What every session does. Subclass it to hold an implementation of yours to it.

.. code-block:: python

    class TestMySession(ProcessSessionContract):
        session_class = MySession

:class:`SessionContract` asks nothing of the machine; :class:`ProcessSessionContract` adds what must
hold for sessions that run real processes. Both need pytest-asyncio's ``auto`` mode.
"""

import asyncio
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import attrs
import pytest

from jobman_core.clock import SystemClock
from jobman_core.command import Command
from jobman_core.errors import CommandFailedError, NotFoundError
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.session import Session, SessionStart
from jobman_core.process import ProcessIdentity

#: Values that a shell, a file format or an encoding could spoil.
HOSTILE_ENV = {
    "QUOTES": 'it\'s "quoted" `id` $(id) $HOME ${x} \\ \\n',
    "LINES": "one\ntwo\n\n three\n",
    "UTF8": "né ☃ 日本",
    "RAW": "\udcff\udc80",
    "EMPTY": "",
    "EQUALS": "a=b=c",
    "DASH": "-n --help",
    "FORMAT": "#{session_name} #(id) %s %Y",
}
NAMES = (
    "job-000001", "with space", "it's \"quoted\"", "a.b:c", "=x", "né☃", "-n", "$(id)", "../up",
    "#{pid}", "x" * 300,
)  # fmt: skip

#: Waits for its starter to be killed once the session is there.
_STARTER = """
import asyncio, importlib, pathlib, sys, time
from jobman_core.clock import SystemClock
from jobman_core.command import Command
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.session import SessionStart
module, name, home, home_id, path = sys.argv[1:]
home = pathlib.Path(home)
session = getattr(importlib.import_module(module), name)(Context(home, home_id, SystemClock()))
start = SessionStart("s", Command(("sleep", "600")), home / "job.log", home, {"PATH": path})
asyncio.run(session.start(start))
print("started", flush=True)
time.sleep(600)
"""


@attrs.frozen
class SessionBed:
    """One home for a test, with a session object on it."""

    home: Path
    session: Session
    #: What was started by this bed.
    names: set[str] = attrs.field(factory=set)

    @property
    def log(self) -> Path:
        """Where all sessions of the bed write."""
        return self.home / "logs of it's" / "job.log"

    def plan(self, name: str, command: Command, **env: str) -> SessionStart:
        """Say what to start, with PATH and what is given as its whole environment."""
        self.names.add(name)
        return SessionStart(name, command, self.log, self.home, {"PATH": os.environ["PATH"], **env})


async def eventually(fact: Callable[[], bool], what: str) -> None:
    """Wait until something holds; fail after 20 s, far beyond what it takes."""
    for _ in range(1000):
        if fact():
            return
        await asyncio.sleep(0.02)
    pytest.fail(f"never came to hold: {what}")


class SessionContract:
    """What holds for every session, also one that only pretends."""

    session_class: ClassVar[type[Session]]

    def make(self, home: Path, home_id: str) -> Session:
        """Make a session object on a home; several on the same home are the same sessions."""
        return self.session_class(Context(home, home_id, SystemClock()))

    def living(self) -> Command:
        """Give a command that lives until it is ended."""
        return Command(("sleep", "600"))

    def dying(self) -> Command:
        """Give a command that says ``boom`` and fails at once."""
        return Command(("sh", "-c", "echo boom >&2; exit 7"))

    @pytest.fixture
    async def beds(self, tmp_path: Path) -> AsyncIterator[Callable[[str], SessionBed]]:
        """Give homes by name; ends whatever was started in them."""
        made: dict[str, SessionBed] = {}

        def bed(name: str) -> SessionBed:
            if name not in made:
                home = tmp_path / name
                Home(home).state.mkdir(parents=True)
                made[name] = SessionBed(home, self.make(home, str(uuid.uuid4())))
            return made[name]

        yield bed
        for one in made.values():
            for name in one.names:
                await one.session.end(name)

    @pytest.fixture
    def bed(self, beds: Callable[[str], SessionBed]) -> SessionBed:
        """Give one home, in a folder whose name is hard on shells and formats."""
        return beds("home #(id) 'n ☃")

    async def test_lives_from_its_start_to_its_end(self, bed: SessionBed) -> None:
        assert not await bed.session.alive("s")
        await bed.session.start(bed.plan("s", self.living()))
        assert await bed.session.alive("s")
        await bed.session.end("s")
        assert not await bed.session.alive("s")

    async def test_an_end_of_what_is_not_there_is_no_error(self, bed: SessionBed) -> None:
        await bed.session.end("never")
        await bed.session.start(bed.plan("s", self.living()))
        await bed.session.end("s")
        await bed.session.end("s")
        assert not await bed.session.alive("s")

    async def test_can_be_started_again_after_its_end(self, bed: SessionBed) -> None:
        for _ in range(2):
            await bed.session.start(bed.plan("s", self.living()))
            assert await bed.session.alive("s")
            await bed.session.end("s")
            assert not await bed.session.alive("s")

    async def test_a_start_of_one_that_lives_replaces_it(self, bed: SessionBed) -> None:
        await bed.session.start(bed.plan("s", self.living()))
        await bed.session.start(bed.plan("s", self.living()))
        assert await bed.session.alive("s")
        await bed.session.end("s")
        assert not await bed.session.alive("s")

    async def test_one_that_dies_at_once_gives_its_reason(self, bed: SessionBed) -> None:
        with pytest.raises(CommandFailedError, match="boom") as caught:
            await bed.session.start(bed.plan("s", self.dying()))
        assert "'s'" in str(caught.value)
        assert str(bed.log) in str(caught.value)
        assert not await bed.session.alive("s")

    async def test_a_failed_start_leaves_room_for_the_next(self, bed: SessionBed) -> None:
        with pytest.raises(CommandFailedError):
            await bed.session.start(bed.plan("s", self.dying()))
        await bed.session.start(bed.plan("s", self.living()))
        assert await bed.session.alive("s")

    async def test_another_object_of_the_same_home_knows_it(self, bed: SessionBed) -> None:
        await bed.session.start(bed.plan("s", self.living()))
        other = self.make(bed.home, bed.session.context.home_id)
        assert await other.alive("s")
        await other.end("s")
        assert not await bed.session.alive("s")

    async def test_homes_keep_apart(self, beds: Callable[[str], SessionBed]) -> None:
        one, two = beds("one"), beds("two")
        await one.session.start(one.plan("s", self.living()))
        assert not await two.session.alive("s")
        await two.session.start(two.plan("s", self.living()))
        await one.session.end("s")
        assert not await one.session.alive("s")
        assert await two.session.alive("s")

    async def test_any_name_is_a_name_of_its_own(self, bed: SessionBed) -> None:
        starts = [bed.session.start(bed.plan(name, self.living())) for name in NAMES]
        await asyncio.gather(*starts)
        for name in NAMES:
            assert await bed.session.alive(name)
        assert not await bed.session.alive("job-00000")
        assert not await bed.session.alive("with")
        await bed.session.end(NAMES[0])
        assert [await bed.session.alive(name) for name in NAMES] == [False] + [True] * (
            len(NAMES) - 1
        )


class ProcessSessionContract(SessionContract):
    """What holds, besides, for sessions that run real processes on this machine."""

    async def test_the_environment_is_exactly_what_was_given(self, bed: SessionBed) -> None:
        await bed.session.start(bed.plan("s", Command(("env", "-0")), **HOSTILE_ENV))
        pairs = (os.fsdecode(item).split("=", 1) for item in bed.log.read_bytes().split(b"\0")[:-1])
        assert dict(pairs) == {"PATH": os.environ["PATH"], **HOSTILE_ENV}

    async def test_the_environment_stands_in_no_command_line(self, bed: SessionBed) -> None:
        canary = "canary-7f3a9c51"
        seen = asyncio.create_task(_watch_command_lines(canary))
        await bed.session.start(bed.plan("s", self.living(), SECRET=canary))
        seen.cancel()
        with suppress(asyncio.CancelledError):
            await seen
        assert await bed.session.alive("s")
        assert not _command_lines_with(canary)
        # Whatever stays in the home may be read by others.
        files = [path for path in bed.home.rglob("*") if path.is_file()]
        assert not [path for path in files if canary.encode() in path.read_bytes()]

    async def test_starts_in_its_folder_with_nothing_to_read(self, bed: SessionBed) -> None:
        await bed.session.start(bed.plan("s", Command(("sh", "-c", "pwd; cat; echo end"))))
        await eventually(lambda: bed.log.read_text() == f"{bed.home}\nend\n", "it said so")

    async def test_no_signal_is_ignored_or_blocked(self, bed: SessionBed) -> None:
        # A shell in between may ignore SIGINT for what it starts in the background, nohup SIGHUP,
        # and Python ignores SIGPIPE and SIGXFSZ: a program would behave differently in a session.
        out = bed.home / "signals"
        script = f'grep -E "Sig(Ign|Blk)" /proc/self/status > {out.name}; exec sleep 600'
        await bed.session.start(bed.plan("s", Command(("sh", "-c", script))))
        await eventually(lambda: out.exists() and "SigIgn" in out.read_text(), "it said so")
        assert {line.split()[1] for line in out.read_text().splitlines()} == {"0" * 16}

    async def test_the_log_is_appended_to(self, bed: SessionBed) -> None:
        for word in ("first", "second"):
            script = f"echo {word} out; echo {word} err >&2; exec sleep 600"
            await bed.session.start(bed.plan("s", Command(("sh", "-c", script))))
            await eventually(lambda w=word: f"{w} err" in bed.log.read_text(), "the log has it")  # type: ignore[misc]
        lines = bed.log.read_text().splitlines()
        assert lines == ["first out", "first err", "second out", "second err"]

    async def test_says_how_it_died(self, bed: SessionBed) -> None:
        bed.log.parent.mkdir(parents=True)
        bed.log.write_text("what an older session said\n")
        with pytest.raises(CommandFailedError) as caught:
            await bed.session.start(bed.plan("s", self.dying()))
        assert "exit code 7" in str(caught.value)
        assert "boom" in str(caught.value)
        assert "older session" not in str(caught.value)
        assert bed.log.read_text() == "what an older session said\nboom\n"

    async def test_a_traceback_is_in_the_log(self, bed: SessionBed) -> None:
        command = Command((sys.executable, "-c", "import no_such_module_anywhere"))
        with pytest.raises(CommandFailedError, match="no_such_module_anywhere"):
            await bed.session.start(bed.plan("s", command))
        assert "Traceback" in bed.log.read_text()

    @pytest.mark.parametrize("program", ["no such program", "/no/such/program", "./not-executable"])
    async def test_a_program_that_is_not_there_is_named(
        self, bed: SessionBed, program: str
    ) -> None:
        (bed.home / "not-executable").write_text("echo never")
        with pytest.raises(CommandFailedError, match="cannot start") as caught:
            await bed.session.start(bed.plan("s", Command((program,))))
        assert program in str(caught.value)
        assert program in bed.log.read_text()

    async def test_a_folder_that_is_not_there_is_named(self, bed: SessionBed) -> None:
        for folder in ("gone", "é/" * 3000):
            plan = attrs.evolve(bed.plan("s", self.living()), cwd=bed.home / folder)
            with pytest.raises(CommandFailedError, match=f"cannot enter.*{folder[:4]}"):
                await bed.session.start(plan)

    async def test_a_log_that_cannot_be_written_is_named(self, bed: SessionBed) -> None:
        plan = attrs.evolve(bed.plan("s", self.living()), log=bed.home)
        with pytest.raises(CommandFailedError, match="cannot write the log"):
            await bed.session.start(plan)
        assert not await bed.session.alive("s")

    async def test_one_that_had_nothing_to_do_is_no_failure(self, bed: SessionBed) -> None:
        await bed.session.start(bed.plan("s", Command(("true",))))
        assert not await bed.session.alive("s")

    async def test_replacing_ends_the_old_process(self, bed: SessionBed) -> None:
        old = await self._started(bed, "s")
        new = await self._started(bed, "s")
        assert old.state() == "gone"
        assert new.state() == "alive"

    async def test_survives_its_starter_and_the_starter_s_group(self, bed: SessionBed) -> None:
        bed.names.add("s")
        cls = type(bed.session)
        starter = subprocess.Popen(
            (sys.executable, "-c", _STARTER, cls.__module__, cls.__qualname__, str(bed.home),
             bed.session.context.home_id, os.environ["PATH"]),
            stdout=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        with starter:
            assert starter.stdout is not None
            line = await asyncio.to_thread(starter.stdout.readline)
            os.killpg(starter.pid, signal.SIGKILL)
        assert line == b"started\n"
        assert await bed.session.alive("s")
        await bed.session.end("s")
        assert not await bed.session.alive("s")

    async def test_a_start_that_is_cancelled_leaves_nothing_that_end_would_miss(
        self, bed: SessionBed
    ) -> None:
        pids = bed.home / "pids"
        command = Command(("sh", "-c", f"echo $$ >> {pids.name}; exec sleep 600"))
        for moment in (lambda: True, bed.log.exists, pids.exists):
            starting = asyncio.create_task(bed.session.start(bed.plan("s", command)))
            await eventually(moment, "the start has come so far")
            starting.cancel()
            with suppress(asyncio.CancelledError):
                await starting
        await bed.session.end("s")
        for pid in pids.read_text().split():
            with suppress(NotFoundError):
                assert ProcessIdentity.of(int(pid)).state() == "gone"

    async def test_ends_by_term_where_it_listens(self, bed: SessionBed) -> None:
        identity = await self._started(bed, "s", 'trap "echo bye; exit 0" TERM')
        await bed.session.end("s")
        assert identity.state() == "gone"
        assert "bye" in bed.log.read_text()

    async def test_ends_one_that_ignores_term(self, bed: SessionBed) -> None:
        identity = await self._started(bed, "s", 'trap "" TERM HUP INT')
        await bed.session.end("s")
        assert identity.state() == "gone"

    async def test_ends_one_that_is_stopped(self, bed: SessionBed) -> None:
        identity = await self._started(bed, "s", 'trap "echo woke up" TERM CONT')
        os.kill(identity.pid, signal.SIGSTOP)
        await eventually(lambda: identity.state() == "stopped", "it is stopped")
        assert await bed.session.alive("s")
        await bed.session.end("s")
        assert identity.state() == "gone"
        assert "woke up" not in bed.log.read_text()

    async def test_what_it_detached_lives_on(self, bed: SessionBed) -> None:
        out = bed.home / "detached"
        say = f"echo $$ > {out.name}.new; mv {out.name}.new {out.name}"
        before = f"setsid sh -c '{say}; exec sleep 600' &"
        await self._started(bed, "s", before)
        await eventually(out.exists, "the detached process runs")
        detached = ProcessIdentity.of(int(out.read_text()))
        await bed.session.end("s")
        assert detached.state() == "alive"
        os.kill(detached.pid, signal.SIGKILL)

    async def test_leaves_no_zombie_with_its_starter(self, bed: SessionBed) -> None:
        await bed.session.start(bed.plan("s", self.living()))
        with suppress(CommandFailedError):
            await bed.session.start(bed.plan("other", self.dying()))
        await bed.session.end("s")
        await eventually(lambda: not _zombies(), "no child of this process is a zombie")

    async def _started(self, bed: SessionBed, name: str, before: str = ":") -> ProcessIdentity:
        """Start a shell that does something and then waits; gives its identity."""
        out = bed.home / "pid"
        out.unlink(missing_ok=True)
        script = f"{before}\necho $$ > pid.new; mv pid.new pid; while :; do sleep 0.2; done"
        await bed.session.start(bed.plan(name, Command(("sh", "-c", script))))
        await eventually(out.exists, "the shell runs")
        return ProcessIdentity.of(int(out.read_text()))


async def _watch_command_lines(canary: str) -> None:
    while True:
        assert not _command_lines_with(canary)
        await asyncio.sleep(0.005)


def _command_lines_with(text: str) -> list[str]:
    """Give the processes whose command line holds a text."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # Processes come and go.
            if text.encode() in path.read_bytes():
                found.append(path.parent.name)
    return found


def _zombies() -> list[str]:
    """Give the children of this process that have ended and were not reaped."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if fields[0] == "Z" and int(fields[1]) == os.getpid():
                found.append(path.parent.name)
    return found
