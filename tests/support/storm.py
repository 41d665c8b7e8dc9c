"""A storm over a home: things go wrong at random, and in the end it must all add up."""

import os
import random
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from subprocess import Popen
from typing import Final

import attrs
from tests.support.lab import Lab

from jobman_core.app import App
from jobman_core.builtin.local import keeper
from jobman_core.errors import JobmanError
from jobman_core.models.attempt import Attempt
from jobman_core.models.outcome import Cause, OutcomeKind
from jobman_core.models.task import Task, TaskStatus

#: How many attempts a task has, with those that fail by themselves.
MAX_RETRIES = 3
#: It fails until nobody tries any more.
HOPELESS = 99

#: How often each thing must have struck, in words of the log, before the weather may clear.
LEAST: Final = {"kills controller": 3, "hangs controller": 2, "preempts": 1, "freezes": 1}

#: Holds a lock of its own for all its life, and so does what it leaves behind.
_PROGRAM = """\
root=$1 task=$2 fails=$3 seconds=$4
me=$task.$JOBMAN_WORKER_ID
exec 9> "$root/locks/$me"
flock -n 9 || { echo "$me, attempt $JOBMAN_ATTEMPT" >> "$root/overlaps"; exit 99; }
echo "start $JOBMAN_ATTEMPT" >> "$root/runs/$me"
setsid sleep 300 &
sleep "$seconds"
code=0
if [ "$JOBMAN_WORKER_ID" = 0 ] && [ "$(grep -c '^end .* 1$' "$root/runs/$me")" -lt "$fails" ]; then
    code=1
fi
echo "end $JOBMAN_ATTEMPT $code" >> "$root/runs/$me"
exit $code
"""


def seeds(text: str) -> list[int]:
    """Read seeds: ``7``, ``1,2``, ``1-50``."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


@attrs.frozen
class Plan:
    """One task of a storm."""

    id: str
    accelerator: str
    needs: tuple[str, ...]
    #: How often it fails by itself.
    fails: int
    seconds: float


def plan(chance: random.Random, count: int, accelerators: Sequence[str]) -> list[Plan]:
    """Make up tasks; a dependency is always an earlier one."""
    plans: list[Plan] = []
    hopeless = set(chance.sample(range(count // 2, count), 2))
    for number in range(count):
        earlier = [p.id for p in plans[-12:]]
        needs = chance.sample(earlier, min(len(earlier), chance.choice((0, 0, 1, 1, 2))))
        fails = HOPELESS if number in hopeless else chance.choice((0, 0, 0, 0, 1, 2))
        seconds = round(chance.uniform(0.5, 1.0), 2)
        kind = chance.choice(accelerators)
        plans.append(Plan(f"t{number:02}", kind, tuple(needs), fails, seconds))
    return plans


@attrs.define
class _Command:
    """A command of a person that is under way, and what they do next."""

    args: tuple[str, ...]
    process: Popen[str]
    then: tuple[str, ...] | None


@attrs.define
class Storm:
    """Strikes at random at jobs of a home, and keeps a log of it."""

    lab: Lab
    chance: random.Random
    jobs: Sequence[str]
    log: list[str] = attrs.field(factory=list)
    _began: float = attrs.field(factory=time.monotonic)
    _commands: list[_Command] = attrs.field(factory=list)
    #: What is to be mended later: at which moment, and how.
    _later: list[tuple[float, Callable[[], None]]] = attrs.field(factory=list)

    #: Strikes whose turn is still to come in this dealing: each comes as often as it weighs.
    _dealt: list[Callable[[], None]] = attrs.field(factory=list)

    def rage(self, over: Callable[[], bool], *, longest: float) -> None:
        """Strike about once a second until it is over, or for so many seconds.

        On a slow machine strikes take long: it goes on for twice as long until all have struck.
        """
        deadline = time.monotonic() + longest
        while not over() and time.monotonic() < deadline + longest * bool(self.lulls()):
            self._strike()
            self._go_on()
            time.sleep(self.chance.uniform(0.1, 0.7))

    def clear(self, over: Callable[[], bool], *, limit: float) -> None:
        """Let nothing more go wrong, and wait until it is over, as a person with cron does."""
        self._note("the weather clears")
        deadline = time.monotonic() + limit
        self.mend()
        while self._commands:
            self._go_on(again=False)
            assert time.monotonic() < deadline, f"commands hang\n{self.story()}"
            time.sleep(0.1)
        self.lab.run("resume", *self.jobs)
        while not over():
            self._go_on()
            assert time.monotonic() < deadline, f"in vain for {limit} s\n{self.story()}"
            time.sleep(0.3)
        while self._commands:
            self._go_on(again=False)
            time.sleep(0.1)

    def mend(self) -> None:
        """Wake all that hangs, and let speak all that is silent."""
        while self._later:
            self._later.pop()[1]()

    def leave(self) -> None:
        """Leave nothing behind on which another would wait: nothing that hangs, no command."""
        self.mend()
        for command in self._commands:
            command.process.kill()
            command.process.communicate()
        self._commands.clear()

    def lulls(self) -> list[str]:
        """Say what struck less often than a storm must, by the log of strikes."""
        struck = {what: sum(f" {what} " in line for line in self.log) for what in LEAST}
        return [
            f"it {what} only {struck[what]} times, not {least}: this was no storm"
            for what, least in LEAST.items()
            if struck[what] < least
        ]

    # -- what goes wrong -------------------------------------------------------------------

    def _strike(self) -> None:
        strikes: dict[Callable[[], None], int] = {
            self._kill_controller: 6,
            self._hang_controller: 3,
            self._preempt: 2,
            self._kill_keeper: 1,
            self.freeze: 2,
            self._silence: 1,
            self._stop_and_resume: 1,
            self._requeue: 1,
            self._cleanup: 1,
            self._kill_command: 1,
        }
        if not self._dealt:
            self._dealt = [strike for strike, weight in strikes.items() for _ in range(weight)]
            self.chance.shuffle(self._dealt)
        # What is not there now cannot be struck: its turn comes again.
        for strike in tuple(self._dealt):
            with suppress(LookupError, OSError, JobmanError):
                strike()
                self._dealt.remove(strike)
                return

    def _kill_controller(self) -> None:
        job, pid = self.chance.choice(self._controllers())
        os.kill(pid, signal.SIGKILL)
        self._note(f"kills controller {pid} of job {job}")

    def _hang_controller(self) -> None:
        job, pid = self.chance.choice(self._controllers())
        os.kill(pid, signal.SIGSTOP)
        seconds = self.chance.uniform(0.2, 5)
        self._note(f"hangs controller {pid} of job {job} for {seconds:.1f} s")

        def wake() -> None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
                self._note(f"wakes controller {pid} of job {job}")

        self._in(seconds, wake)

    def _preempt(self) -> None:
        job = self.chance.choice(self.jobs)
        self.lab.preempt(job)
        self._note(f"preempts job {job}")

    def _kill_keeper(self) -> None:
        slice_, roots = self._some_slice()
        root = self.chance.choice(roots)
        keeper.send(root, signal.SIGKILL)
        self._note(f"kills process {root[0]} of {slice_.name}")

    def freeze(self) -> None:
        """Let some hosts hang, with all that runs there."""
        slice_, roots = self._some_slice()
        some = self.chance.sample(roots, self.chance.randint(1, len(roots)))
        frozen = {p for root in some for p in (root, *keeper.below(root))}
        seconds = self.chance.uniform(0.5, 4)

        def thaw() -> None:
            for process in frozen:
                keeper.send(process, signal.SIGCONT)
            self._note(f"thaws {slice_.name}")

        # Before anything is frozen, so that none of it stays so, whatever comes between.
        self._in(seconds, thaw)
        for process in frozen:
            keeper.send(process, signal.SIGSTOP)
        self._note(f"freezes {len(frozen)} processes of {slice_.name} for {seconds:.1f} s")

    def _silence(self) -> None:
        """Let nothing reach a slice, on which all goes on."""
        slice_ = self.chance.choice(self._slices())
        up, away = slice_ / keeper.UP, slice_ / "away"
        up.rename(away)
        seconds = self.chance.choice((1.0, 2.0, 30.0))
        self._note(f"silences {slice_.name} for {seconds:.1f} s")

        def speak() -> None:
            with suppress(OSError):
                away.rename(up)
                self._note(f"lets {slice_.name} speak")

        self._in(seconds, speak)

    def _stop_and_resume(self) -> None:
        job = self.chance.choice(self.jobs)
        self._begin("stop", job, then=("resume", job))

    def _requeue(self) -> None:
        self._begin("requeue", self.chance.choice(self.jobs))

    def _cleanup(self) -> None:
        self._begin("queue", "tasks.yaml", "--cleanup")

    def _kill_command(self) -> None:
        command = self.chance.choice(self._commands)
        command.process.kill()
        self._note(f"kills the command {' '.join(command.args)}")

    # -- what people do --------------------------------------------------------------------

    def _begin(self, *args: str, then: tuple[str, ...] | None = None) -> None:
        self._note(f"says {' '.join(args)}")
        self._commands.append(_Command(args, self.lab.start(*args), then))

    def _go_on(self, *, again: bool = True) -> None:
        """See what commands came to; one that brings jobs back is always under way."""
        for command in [c for c in self._commands if c.process.poll() is not None]:
            self._commands.remove(command)
            out, err = command.process.communicate()
            code = command.process.returncode
            said = f"`{' '.join(command.args)}` ended with {code}: {out}{err}"
            self._note(said.strip().replace("\n", " | "))
            # 1: it could not in time, 4: another command was faster.
            assert code in (0, 1, 4, -signal.SIGKILL), f"{said}\n{self.story()}"
            assert "Traceback" not in err, f"{said}\n{self.story()}"
            if command.then:
                self._begin(*command.then)
        now = time.monotonic()
        for due in [item for item in self._later if item[0] <= now]:
            self._later.remove(due)
            due[1]()
        if again and not any(c.args == ("resume", "--all") for c in self._commands):
            self._begin("resume", "--all")

    def _in(self, seconds: float, mend: Callable[[], None]) -> None:
        self._later.append((time.monotonic() + seconds, mend))

    # -- what there is ---------------------------------------------------------------------

    def _controllers(self) -> list[tuple[str, int]]:
        """Give jobs with the living processes that drive them, but never the test itself."""
        with closing(sqlite3.connect(self.lab.root / "jobs/.jobman/jobman.db")) as db:
            rows = db.execute(
                "SELECT job, pid FROM controllers JOIN leases ON controller = controllers.id"
            ).fetchall()
        found = [(f"{job:06}", pid) for job, pid in rows if pid != os.getpid()]
        return [(job, pid) for job, pid in found if Path(f"/proc/{pid}").exists()]

    def _slices(self) -> list[Path]:
        return sorted(p.parent for p in self.lab.root.glob("jobs/.jobman/local/*/slice.json"))

    def _some_slice(self) -> tuple[Path, list[keeper.Process]]:
        """Choose a slice on which something lives, and give what did when it was looked at."""
        found = [(slice_, self._roots(slice_)) for slice_ in self._slices()]
        return self.chance.choice([(slice_, roots) for slice_, roots in found if roots])

    def _roots(self, slice_: Path) -> list[keeper.Process]:
        """Give the processes that all others of a slice are below of."""
        named = (keeper.from_name(p.name) for p in sorted((slice_ / keeper.ROOTS).iterdir()))
        return [process for process in named if process and keeper.alive(process)]

    def _note(self, text: str) -> None:
        moment = f"{time.strftime('%H:%M:%S', time.gmtime())} +{self._elapsed():5.1f}"
        self.log.append(f"{moment} {text}")

    def _elapsed(self) -> float:
        return time.monotonic() - self._began

    def story(self) -> str:
        """Give the log of strikes and what the controllers said."""
        return "\n".join(("== strikes", *self.log, self.lab.story(12_000)))


def write(lab: Lab, plans: Sequence[Plan]) -> None:
    """Write the tasks file, and the program that all tasks run."""
    for folder in ("locks", "runs"):
        (lab.root / folder).mkdir()
    program = lab.write("program.sh", _PROGRAM)
    lines = ["accelerators:"]
    for accelerator in sorted({p.accelerator for p in plans}):
        lines += [f"  {accelerator}:", "    tasks:"]
        for p in (p for p in plans if p.accelerator == accelerator):
            lines += [
                f"      - id: {p.id}",
                f"        depends_on: [{', '.join(p.needs)}]",
                f"        max_retries: {MAX_RETRIES}",
                "        workers: all",
                f"        run: exec bash {program} {lab.root} {p.id} {p.fails} {p.seconds}",
            ]
    lab.write("tasks.yaml", "\n".join(lines) + "\n")


def settled(lab: Lab) -> bool:
    """Tell whether every task is done, or never will be."""
    final = {TaskStatus.DONE, TaskStatus.FAILED, TaskStatus.BLOCKED}
    return {task.status for task in _tasks(lab)} <= final


def _tasks(lab: Lab) -> Sequence[Task]:
    return lab.act(lambda app: app.queue(lab.root / "tasks.yaml")).tasks


@contextmanager
def told(storm: Storm) -> Iterator[None]:
    """Print the story of a storm in which something fails, and end the storm with it."""
    try:
        yield
    except BaseException:
        storm.leave()
        path = storm.lab.root / "storm.log"
        path.write_text(storm.story(), encoding="utf-8")
        print(storm.story())  # noqa: T201 - shown with a failure only
        raise


def faults(lab: Lab, plans: Sequence[Plan]) -> list[str]:
    """Say everything that does not add up."""
    found = [f"overlap: {line}" for line in _lines(lab.root / "overlaps")]
    lost: set[str] = set()
    for p in plans:
        detail = lab.act(partial(App.queue_task, path=lab.root / "tasks.yaml", task=p.id))
        expected = TaskStatus.DONE
        if lost.intersection(p.needs):
            expected = TaskStatus.BLOCKED
        elif p.fails >= HOPELESS:
            expected = TaskStatus.FAILED
        if expected is not TaskStatus.DONE:
            lost.add(p.id)
        wrong = [*_of_task(detail.task, detail.attempts, expected)]
        for path in sorted((lab.root / "runs").glob(f"{p.id}.*")):
            wrong += _of_host(path, detail.attempts)
        if wrong:
            found.append(
                "\n    ".join((f"{p.id}: {'; '.join(wrong)}", *map(_told, detail.attempts)))
            )
    return found


def _told(attempt: Attempt) -> str:
    outcome = attempt.outcome
    how = f"{outcome.kind}, {outcome.cause}: {outcome.detail}" if outcome else "lives"
    where = f"job {attempt.job}, generation {attempt.generation}"
    return f"{attempt.number}: {where}, {attempt.claimed_at} to {attempt.ended_at}: {how}"


def _of_task(task: Task, attempts: Sequence[Attempt], expected: TaskStatus) -> Iterator[str]:
    kinds = [a.outcome.kind if a.outcome else None for a in attempts]
    failed, succeeded = kinds.count(OutcomeKind.FAILED), kinds.count(OutcomeKind.SUCCEEDED)
    done = expected is TaskStatus.DONE
    if task.status is not expected:
        yield f"is {task.status}, not {expected}"
    if None in kinds:
        yield "an attempt has no outcome"
    if [a.number for a in attempts] != list(range(1, len(attempts) + 1)):
        yield "run numbers have gaps"
    if expected is TaskStatus.BLOCKED and attempts:
        yield "ran, though what it depends on failed"
    if expected is TaskStatus.FAILED and failed != MAX_RETRIES:
        yield f"failed for good after {failed} failures"
    if succeeded != done or (done and kinds[-1] is not OutcomeKind.SUCCEEDED):
        yield f"succeeded {succeeded} times"
    counted = task.counters.fail_count, task.counters.run_count
    if counted != (0 if done else failed, len(attempts)):
        yield f"has the counters {task.counters}"


def _of_host(path: Path, attempts: Sequence[Attempt]) -> Iterator[str]:
    """Compare what programs wrote on a host with what is on record."""
    starts: Counter[int] = Counter()
    ends: dict[int, int] = {}
    for line in _lines(path):
        word, number, *code = line.split()
        if word == "start":
            starts[int(number)] += 1
        else:
            ends[int(number)] = int(code[0])
    yield from (
        f"attempt {n} was started {k} times on {path.name}" for n, k in starts.items() if k > 1
    )
    for attempt in attempts:
        outcome, end = attempt.outcome, ends.get(attempt.number)
        if outcome is None:
            continue
        if outcome.kind is OutcomeKind.SUCCEEDED and end != 0:
            yield f"attempt {attempt.number} succeeded, but {path.name} ended with {end}"
        if outcome.kind is OutcomeKind.FAILED and outcome.cause != Cause.EXITED:
            yield f"attempt {attempt.number} failed by {outcome.cause}: {outcome.detail}"
        elif outcome.kind is OutcomeKind.FAILED and path.suffix == ".0" and end != 1:
            yield f"attempt {attempt.number} failed, but {path.name} ended with {end}"


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
