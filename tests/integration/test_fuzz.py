"""Ten thousand files, generated and mutated: each gives a result, or faults that name their place.

The inputs depend on the seed alone: JOBMAN_FUZZ_SEED sets another than the usual one, and
JOBMAN_FUZZ_INPUTS how many there are. A failure says its input's number and shows the input;
JOBMAN_FUZZ_ONLY is the number of the one to run.
"""

import asyncio
import contextlib
import os
import random
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Final

import attrs
import pytest
from tests.core.config.conftest import TASKS, WORKER
from tests.integration.test_bad_input import JOBS, TASK_FILES

from jobman_core.app import App
from jobman_core.config.settings_file import read_settings
from jobman_core.errors import ConfigError, Fault, InvalidInputError
from jobman_core.home import Home
from jobman_core.interfaces.store import PastRun
from jobman_core.models.task import Counters
from jobman_core.queue import v3_state

SEED: Final = os.environ.get("JOBMAN_FUZZ_SEED", "1")
INPUTS: Final = int(os.environ.get("JOBMAN_FUZZ_INPUTS", "10000"))
ONLY: Final = os.environ.get("JOBMAN_FUZZ_ONLY")
#: So many parts share them, so that two cores have something to do.
PARTS: Final = 4
#: Seconds of the processor after which an input counts as a hang.
LIMIT: Final = 5.0

EXAMPLES: Final = Path(__file__).parents[2] / "examples"

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

#: Every key of a job file that works with nothing installed.
EVERYTHING = """\
job: &job
  name: all_${tpu.zone}
  loop: always
  max_restarts: 2
  on_end: delete
  remote_user: ada
  worker_num: auto
  session: process
  environment: {A: "1", B: '${job.name}', C: ${oc.env:HOME}}
  pipefail: false
  unreachable_timeout: 10m
tpu:
  cloud: local
  accelerator: v5litepod-16
  zone: here
  zones: [there, "over there"]
  name: tpu-${job.name}
  metadata: {a: b}
  startup_script: |
    echo hello
ssh:
  port: 2222
  options: [A=b]
  identities:
    - {private_key: ~/.ssh/key, config_entry: "Host 10.*"}
command:
  workers: [0, 1]
  cmd: >-
    echo "$A" ${B} $${C}
      && true
"""
SETTINGS = """\
cloud: local
session: process
admins: [ada, grace]
time_zone: Europe/Paris
prices: {v4: 1.5, v5litepod: 0.3}
lease: 90s
beat: 15
notify: {to: owner, of: [failed, stuck]}
clouds: {local: null}
"""
STATE = """\
tasks:
  train-seed-1:
    done: false
    priority: true
    running:
      - job_id: '000045'
        started: '2024-05-01T10:00:00'
    run_count: 2
    fail_count: 1
    history:
      - &past
        job_id: 000012
        started: 2024-05-01 10:00:00.123456
        ended: '2024-05-01T11:00:00+02:00'
        status: failed
      - <<: *past
        status: stale_cleanup
  report: {done: true, running: [], run_count: 1, fail_count: 0, history: [*past]}
"""

JOB_FILES = [
    *(
        path.read_text(encoding="utf-8")
        for path in (EXAMPLES / "job.yaml", EXAMPLES / "worker.yaml")
    ),
    *(text for text, _ in JOBS.values()),
    WORKER,
    EVERYTHING,
    EVERYTHING,
]
TASKS_FILES = [
    (EXAMPLES / "tasks.yaml").read_text(encoding="utf-8"),
    *(text for text, _ in TASK_FILES.values()),
    TASKS,
]
BOMB = "".join(
    f"b{n}: &b{n} [{', '.join([f'*b{n - 1}'] * 9)}]\n" if n else "b0: &b0 [x, x]\n"
    for n in range(12)
)
#: What YAML, interpolation, terminals and Python's own limits make something special of.
SPECIAL: list[str] = [
    *"[]{},&*!|>'\"%@`#?:-<~\\$\t\0\x07\x1b\x7f\x85\xa0\u2028\u2029\u202e\ufeff\ufffe\U0001f600",
    "\r\n", "\r", "\n\n", "---\n", "...\n", "%YAML 1.1\n", "%TAG ! x\n", "- ", "? ", ": ", "<<: ",
    "&a ", "*a", "&a *a", "<<: *a", "!!int ", "!!python/object:os.system ", "!!binary |", "!x ",
    "null", "~", "true", "no", "1e999", "-1", "0x1F", "0o17", ".inf", ".nan", "1_000", "1:30",
    "9" * 17, "9" * 30, "9" * 5000, "2024-01-01", "2024-13-45T99:99:99", "'", '"\\x', '"\\ud800"',
    '"\\u0000"', '"\\N\\_\\L\\P"', "${", "${}", "${tpu.name}", "${job.name}", "${.name}",
    "${oc.env:HOME}", "${oc.env:}", "${oc.env:A,${job.name}}", "$${x}", "${job}", "${job.queue}",
    "\u0660\u0661", "e\u0301", "a" * 300, "é" * 70, "x\r", "/", "../..", "~nobody/x", "-rf",
    "{" * 60, "[" * 3000, "- " * 3000, "{a: " * 60, "? " * 300, "|2-\n", ">+\n", "# c", " #",
    "<<: [*a, *a]\n", "&a {<<: *a}\n", "a: &a [*a]\n", "*b1", "*b11",
    "? *b11\n: ", BOMB,
]  # fmt: skip


@attrs.frozen
class Kind:
    """One of the files that people write."""

    name: str
    texts: Sequence[str]


KINDS = [
    Kind("job.yaml", JOB_FILES),
    Kind("tasks.yaml", TASKS_FILES),
    Kind("jobman.yaml", [SETTINGS]),
    Kind("tasks_state.yaml", [STATE, BOMB + STATE]),
]
#: How often each comes, of ten.
WEIGHTS = (4, 4, 1, 1)


class HangError(BaseException):
    """Not to be caught by anything that catches errors."""


def _hangs(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise HangError


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Interrupt what takes too long, wherever it is. Waiting for others is the time-out's."""
    before = signal.signal(signal.SIGVTALRM, _hangs)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


# -- the inputs ------------------------------------------------------------------------------------


def mutate_lines(text: str, chance: random.Random) -> str:
    lines: list[str] = text.splitlines(keepends=True) or ["\n"]
    at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(6):
        case 0:
            del lines[at]
        case 1:
            lines.insert(other, lines[at])
        case 2:
            lines[at], lines[other] = lines[other], lines[at]
        case 3:
            lines[at] = " " * chance.randrange(9) + lines[at].lstrip(" ")
        case 4:
            lines[at] = chance.choice(["\t", " \t", "\u3000", "\xa0"]) + lines[at]
        case _:
            lines[at:other] = lines[at:other] * 2
    return "".join(lines)


def mutate_characters(text: str, chance: random.Random) -> str:
    at, other = sorted(chance.randrange(len(text) + 1) for _ in range(2))
    match chance.randrange(4):
        case 0:
            return text[:at] + text[at + chance.randrange(1, 6) :]
        case 1:
            return text[:at] + chance.choice(SPECIAL) + text[at:]
        case 2:
            return text[:at] + text[other:]
        case _:
            return text[:at] + chr(chance.choice([chance.randrange(256), 0xD7FF, 0x10FFFF]))


def mutate_value(text: str, chance: random.Random) -> str:
    """Put something else behind a key, or another key before a value."""
    places = list(re.finditer(r"(?m)(?:^|(?<=[ {,]))[\w.-]+(?=:)|(?<=: )[^\n,}\]]+", text))
    if not places:
        return mutate_characters(text, chance)
    found = chance.choice(places)
    new = chance.choice([*SPECIAL, chance.choice(places)[0], chance.choice(places)[0]])
    return text[: found.start()] + new + text[found.end() :]


def mutate_whole(text: str, chance: random.Random) -> str:
    match chance.randrange(7):
        case 0:
            return text.replace("\n", "\r\n")
        case 1:
            return "\ufeff" + text
        case 2:
            return text + BOMB
        case 3:
            return text.replace("  ", chance.choice([" ", "   ", "\t", "    "]))
        case 4:
            return text + chance.choice(JOB_FILES + TASKS_FILES)
        case 5:
            return text.replace(": ", chance.choice([": &a ", ": *a", ": !!str ", ":", ": ? "]), 3)
        case _:
            return text.rstrip("\n") + chance.choice(SPECIAL)


def soup(chance: random.Random) -> str:
    words = [*SPECIAL, " ", "\n", "\n  ", "job:", "tpu:", "tasks:", "accelerators:", "id:", "run:"]
    return "".join(chance.choice(words) for _ in range(chance.randrange(40)))


MUTATIONS: Sequence[Callable[[str, random.Random], str]] = (
    mutate_lines,
    mutate_lines,
    mutate_characters,
    mutate_value,
    mutate_value,
    mutate_whole,
)


def make(number: int) -> tuple[Kind, bytes]:
    """Make an input, always the same for a seed and a number."""
    chance = random.Random(f"{SEED}-{number}")  # noqa: S311 - an input that can be made again
    (kind,) = chance.choices(KINDS, WEIGHTS)
    if chance.random() < 0.05:
        return kind, chance.randbytes(chance.randrange(80))
    text = soup(chance) if chance.random() < 0.05 else chance.choice(kind.texts)
    for _ in range(min(chance.choice([1, 1, 1, 2, 2, 3, 5, 8]), 8)):
        text = chance.choice(MUTATIONS)(text, chance)[:200_000]
    data = text.encode("utf-8", "surrogatepass")
    if chance.random() < 0.05 and data:
        at = chance.randrange(len(data))
        data = data[:at] + chance.randbytes(1) + data[at + chance.randrange(3) :]
    return kind, data


# -- what has to hold ------------------------------------------------------------------------------


def check_faults(faults: Sequence[Fault], path: Path, data: bytes) -> None:
    """Every fault is one line that begins with a place in the file."""
    lines = data.count(b"\n") + data.count(b"\r") + 1
    lines += sum(data.count(char.encode()) for char in "\x85\u2028\u2029")
    for fault in faults:
        text = str(fault)
        assert len(text.splitlines()) == 1, text
        assert re.match(re.escape(str(path)) + r":\d+:\d+: \S", text), text
        assert 0 <= fault.line <= lines + 1, text
        assert len(text) < 2000, f"{text[:300]}… has {len(text)} characters"


async def check_validated(app: App, path: Path, data: bytes) -> None:
    """``jobman validate`` has faults or none; with none, ``create --dry-run`` has a plan."""
    (look,) = await app.validate([path])
    faults = list(look.faults)
    check_faults(faults, path, data)
    assert len(faults) == len(set(faults))
    if faults or path.name != "job.yaml":
        return
    faults = []
    try:
        assert (await app.plan(path)).cloud
    except ConfigError as error:
        faults = [*error.faults]
    check_faults(faults, path, data)
    # One may have become a tasks file by now, and was checked as such.
    assert not faults or {"accelerators", "repos", "defaults", "tasks"} & {f.key for f in faults}


def check_settings(path: Path, data: bytes) -> None:
    faults: Sequence[Fault] | None = None
    try:
        settings = read_settings([(path, data)], path)
    except ConfigError as error:
        faults = error.faults
    else:
        assert settings.lease >= 2 * settings.beat > 0
    assert faults != ()
    check_faults(faults or (), path, data)


def check_state(path: Path) -> None:
    found, refusal = None, ""
    try:
        found = v3_state.read(path, {})
    except InvalidInputError as error:
        refusal = str(error)
    assert len(refusal.splitlines()) <= 1
    assert not refusal or refusal.startswith(str(path))
    if found is None:
        return
    for note in found.notes:
        assert len(note.splitlines()) == 1, note
        assert len(note) < 2000, f"{note[:300]}… has {len(note)} characters"
    for counters in found.counters.values():
        assert isinstance(counters, Counters)
        # The database's whole numbers have 64 bits.
        assert max(counters.fail_count, counters.run_count) < 1 << 62
    for runs in found.history.values():
        assert all(isinstance(run, PastRun) for run in runs)


@pytest.mark.parametrize("part", range(PARTS))
def test_no_file_gives_a_traceback_or_a_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    for variable in [name for name in os.environ if name.startswith("JOBMAN")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(tmp_path))
    # Else each dry run would look for an account.
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "lab")
    home = tmp_path / "home"
    home.mkdir()
    # For job files that name one.
    (home / "queue_machines").mkdir()
    for name in ("tasks.yaml", "queue_machines/tasks.yaml"):
        (home / name).write_text(TASKS_FILES[0], encoding="utf-8")
    files = tmp_path / "files"
    files.mkdir()
    app = App(Home(home), user="ada")
    numbers = range(part, INPUTS, PARTS) if ONLY is None else [int(ONLY)]
    with asyncio.Runner() as runner:
        for number in numbers:
            kind, data = make(number)
            path = files / kind.name
            path.write_bytes(data)
            try:
                with limited():
                    if kind.name in ("job.yaml", "tasks.yaml"):
                        runner.run(check_validated(app, path, data))
                    elif kind.name == "jobman.yaml":
                        check_settings(path, data)
                    else:
                        check_state(path)
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                raise AssertionError(
                    f"seed {SEED}, input {number}, {kind.name}: {type(error).__name__}: {error}\n"
                    f"JOBMAN_FUZZ_SEED={SEED} JOBMAN_FUZZ_ONLY={number} runs it again\n"
                    f"{data[:3000]!r}"
                ) from error
