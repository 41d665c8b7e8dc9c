"""``<stem>_state.yaml`` beside a tasks file: what people read, in the format of jobman v3.

Ours begins with a comment that says how new it is and with the key ``home``, so that neither needs
the rest to be parsed. A file without that key is one of v3's.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import attrs

from jobman_core.clock import from_text, to_text
from jobman_core.group import opener
from jobman_core.interfaces.store import PastRun
from jobman_core.models.task import Task

#: Where the head of a file of ours ends at the latest.
_HEAD_BYTES: Final = 4096
_HEAD: Final = re.compile(
    r"^# change (?P<change>\d+), written (?P<written>\S+) in (?P<cost>[0-9.]+) s$", re.MULTILINE
)
_HOME: Final = re.compile(r"^home: *[\"']?([0-9A-Za-z-]+)", re.MULTILINE)
#: What YAML wants escaped, and JSON does not.
_UNPRINTABLE: Final = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
#: YAML's limit for a key on one line is 1024 characters.
_LONGEST_KEY: Final = 1000


@attrs.frozen
class Head:
    """How new a state file is, and whose."""

    home: str
    #: ``Queue.changes`` as of its writing; -1 where it does not say.
    change: int = -1
    written: datetime | None = None
    #: Seconds that its writing took.
    cost: float = 0.0


def path_of(tasks_file: Path) -> Path:
    """Give the state file of a tasks file."""
    return tasks_file.with_name(f"{tasks_file.stem}_state.yaml")


def lock_of(state_file: Path) -> Path:
    """Give the hidden file that writers lock."""
    return state_file.with_name(f".{state_file.name}.lock")


def read_head(path: Path) -> Head | None:
    """Read how new a file is, and whose; None: there is none, or it is one of v3's.

    Raises:
        OSError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            text = file.read(_HEAD_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    home = _HOME.search(text)
    if home is None:
        return None
    said = _HEAD.search(text)
    if said is None:
        return Head(home[1])
    try:
        return Head(home[1], int(said["change"]), from_text(said["written"]), float(said["cost"]))
    except ValueError:
        return Head(home[1])


def render_head(head: Head, tasks_file: str) -> str:
    """Write the beginning of a file."""
    said = to_text(head.written) if head.written else "-"
    return (
        f"# The state of the tasks in {_scalar(tasks_file)}, written by jobman: a view, which is\n"
        "# written anew with every change. `jobman queue` resets tasks, and calls them done.\n"
        f"# change {head.change}, written {said} in {head.cost:.3f} s\n"
        f"home: {_scalar(head.home)}\n"
    )


def render_tasks(tasks: Iterable[Task], history: Mapping[str, Sequence[PastRun]]) -> str:
    """Write the rest of it."""
    lines = [line for task in tasks for line in _entry(task, history.get(task.id, ()))]
    return "\n".join(["tasks:", *lines, ""] if lines else ["tasks: {}", ""])


def write(path: Path, text: str) -> None:
    """Put a file in its place, whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(aside, "w", encoding="utf-8", opener=opener) as file:
            file.write(text)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def _entry(task: Task, history: Sequence[PastRun]) -> Iterator[str]:
    counters = task.counters
    key = _scalar(task.id)
    yield from (f"  ? {key}", "  :") if len(key) > _LONGEST_KEY else (f"  {key}:",)
    yield f"    done: {_flag(counters.done)}"
    if counters.failed:
        yield "    failed: true"
    yield f"    priority: {_flag(counters.priority)}"
    yield "    running:" if task.running else "    running: []"
    for run in task.running:
        yield f"      - job_id: {_scalar(run.job)}"
        yield f"        started: {_scalar(to_text(run.started))}"
    yield f"    run_count: {counters.run_count}"
    yield f"    fail_count: {counters.fail_count}"
    yield "    history:" if history else "    history: []"
    for past in history:
        yield f"      - job_id: {_scalar(past.job)}"
        yield f"        started: {_moment(past.started)}"
        yield f"        ended: {_moment(past.ended)}"
        yield f"        status: {past.status}"


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _moment(value: datetime | None) -> str:
    return "null" if value is None else _scalar(to_text(value))


def _scalar(text: str) -> str:
    """Write any text as a double-quoted scalar, which every YAML reader gives back unchanged."""
    quoted = json.dumps(text, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)
