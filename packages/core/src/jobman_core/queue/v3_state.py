"""Reads the state files of jobman v3, so that nothing is run again that was done under it."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import attrs

from jobman_core.clock import from_text
from jobman_core.errors import InvalidInputError
from jobman_core.interfaces.store import PastRun
from jobman_core.models.task import Counters
from jobman_core.queue import policy

#: What v3 takes where a tasks file does not say it.
_V3_RETRIES: Final = 3
_DEEPEST: Final = 40
#: How much aliases may add to a file, in nodes.
_EXPANSION: Final = 300_000
#: Numbers beyond this were counted by nobody.
_MOST: Final = 1_000_000_000
_LONGEST: Final = 60
_PAST: Final = frozenset({"completed", "failed", "interrupted", "stale_cleanup"})


@attrs.frozen
class OldState:
    """What a state file of v3 says."""

    counters: Mapping[str, Counters]
    history: Mapping[str, Sequence[PastRun]]
    #: What was passed over or read in another way, a line each.
    notes: tuple[str, ...] = ()


def read(path: Path, max_retries: Mapping[str, int]) -> OldState | None:
    """Read what jobman v3 left; None: there is no file, or an empty one.

    What is odd in single entries is passed over with a note. A task that v3 calls done because it
    used up its attempts has failed.

    Args:
        path: the state file.
        max_retries: what the tasks file says, by task.

    Raises:
        InvalidInputError: it is not such a file at all.
    """
    data = _load(path)
    if data is None:
        return None
    tasks = data.get("tasks") if isinstance(data, dict) else None
    if tasks in (None, "", "~", "null") and isinstance(data, dict) and "tasks" in data:
        return None
    if not isinstance(tasks, dict):
        raise _broken(path, "it has no map `tasks`")
    reader = _Reader()
    for name, entry in tasks.items():
        reader.read(str(name), entry, max_retries.get(str(name), _V3_RETRIES))
    return OldState(reader.counters, reader.history, tuple(reader.notes))


def _load(path: Path) -> Any:  # noqa: ANN401 - whatever the file holds
    """Parse a file with every scalar as text: ``000045`` is a job's id, not a number."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import ReusedAnchorWarning

    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _broken(path, error.strerror or str(error)) from error
    yaml = YAML(typ="base", pure=True)
    yaml.allow_duplicate_keys = True
    try:
        text = raw.decode("utf-8")
        _check_size(yaml.parse(text))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReusedAnchorWarning)
            return yaml.load(text)
    except Exception as error:
        # ruamel lets errors of Python's own through.
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or next(iter(str(error).splitlines()), "no YAML")
        raise _broken(path, f"line {mark.line + 1}: {what}" if mark else what) from error


def _check_size(events: Iterable[Any]) -> None:
    """Refuse what takes for ever to look at: endless nesting, and what aliases blow up.

    Raises:
        ValueError: it is such a file.
    """
    from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, NodeEvent

    #: Nodes below each anchor, and below each collection that has not ended yet.
    sizes: dict[str, int] = {}
    open_: list[tuple[str | None, int]] = []
    added = 0
    for event in events:
        anchor, size = getattr(event, "anchor", None), 1
        if isinstance(event, CollectionStartEvent):
            open_.append((anchor, 1))
            if len(open_) > _DEEPEST:
                raise ValueError(f"it nests deeper than {_DEEPEST} levels")
            continue
        if isinstance(event, CollectionEndEvent):
            anchor, size = open_.pop()
        elif isinstance(event, AliasEvent):
            anchor, size = None, sizes.get(event.anchor, 1)
            added += size
            if added > _EXPANSION:
                raise ValueError("its aliases blow it up beyond reason")
        elif not isinstance(event, NodeEvent):
            continue
        if anchor is not None:
            sizes[anchor] = size
        if open_:
            around, so_far = open_[-1]
            open_[-1] = around, so_far + size


def _broken(path: Path, why: str) -> InvalidInputError:
    return InvalidInputError(
        f"{path} is no state file of a queue ({why}): mend it, or move it away so that the queue "
        "starts afresh"
    )


class _Reader:
    """Takes what makes sense out of the entries of a file of v3."""

    def __init__(self) -> None:
        self.counters: dict[str, Counters] = {}
        self.history: dict[str, list[PastRun]] = {}
        self.notes: list[str] = []

    def note(self, task: str, text: str) -> None:
        """Tell of one thing that is odd, in one line whatever the task is called."""
        self.notes.append(f"task {_line(task)}: {text}")

    def read(self, task: str, entry: object, max_retries: int) -> None:
        """Read one task."""
        if not isinstance(entry, dict):
            self.note(task, "not a map, passed over")
            return
        runs = [*self._past(task, entry), *self._running(task, entry)]
        failures = self._number(task, entry, "fail_count")
        done = _truth(entry.get("done"))
        ended = [run.status for run in runs if run.status in ("completed", "failed")]
        used_up = failures >= policy.attempts_allowed(max_retries)
        if done and used_up and ended[-1:] == ["failed"]:
            self.note(task, "called done, but it used up its attempts: it failed")
            done = False
        self.counters[task] = Counters(
            done=done,
            failed=not done and used_up,
            fail_count=failures,
            run_count=max(self._number(task, entry, "run_count"), len(runs)),
            priority=_truth(entry.get("priority")),
        )
        if runs:
            self.history[task] = runs

    def _past(self, task: str, entry: Mapping[str, Any]) -> Iterator[PastRun]:
        for item in self._list(task, entry, "history"):
            status = item.get("status", "")
            if not isinstance(status, str) or status not in _PAST:
                self.note(task, f"history entry with status {_shown(status)} passed over")
                continue
            started = self._when(task, item.get("started"))
            yield PastRun(_job(item), started, self._when(task, item.get("ended")), status)

    def _running(self, task: str, entry: Mapping[str, Any]) -> Iterator[PastRun]:
        for item in self._list(task, entry, "running"):
            job = _job(item)
            self.note(task, f"ran on v3's job {job}, taken as interrupted")
            yield PastRun(job, self._when(task, item.get("started")), None, "interrupted")

    def _list(self, task: str, entry: Mapping[str, Any], key: str) -> Iterator[dict[str, Any]]:
        items = entry.get(key)
        if items in (None, "", "~", "null"):
            return
        if not isinstance(items, list):
            self.note(task, f"{key} is not a list, passed over")
            return
        for item in items:
            if isinstance(item, dict):
                yield item
            else:
                self.note(task, f"{key} entry {_shown(item)} passed over")

    def _number(self, task: str, entry: Mapping[str, Any], key: str) -> int:
        value = entry.get(key, "0")
        try:
            number = int(value)
        except (TypeError, ValueError):
            number = _MOST + 1
        if number > _MOST:
            self.note(task, f"{key} {_shown(value)} is no number, taken as 0")
            return 0
        return max(0, number)

    def _when(self, task: str, value: object) -> datetime | None:
        if value in (None, "", "~", "null"):
            return None
        try:
            return from_text(str(value))
        except (ValueError, OverflowError):
            self.note(task, f"{_shown(value)} is no time, passed over")
            return None


def _job(item: Mapping[str, Any]) -> str:
    job = item.get("job_id")
    return _line(job) if job and isinstance(job, str) else "?"


def _line(text: str) -> str:
    """Give a text so short and plain that it fits into a line."""
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return cut if cut.isprintable() else repr(cut)[1:-1]


def _shown(value: object) -> str:
    if isinstance(value, str):
        return f"'{_line(value)}'"
    return "(a list)" if isinstance(value, list) else "(a map)"


def _truth(value: object) -> bool:
    return isinstance(value, str) and value.lower() in ("true", "yes", "on", "1")
