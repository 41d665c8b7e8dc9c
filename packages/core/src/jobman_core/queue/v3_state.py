"""Reads the state files of jobman v3, so that nothing is run again that was done under it."""

from collections.abc import Iterator, Mapping, Sequence
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
    from ruamel.yaml.error import YAMLError

    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _broken(path, error.strerror or str(error)) from error
    yaml = YAML(typ="base", pure=True)
    yaml.allow_duplicate_keys = True
    try:
        return yaml.load(raw.decode("utf-8"))
    except (YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise _broken(path, f"line {mark.line + 1}: {what}" if mark else what) from error


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

    def read(self, task: str, entry: object, max_retries: int) -> None:
        """Read one task."""
        if not isinstance(entry, dict):
            self.notes.append(f"task {task}: not a map, passed over")
            return
        runs = [*self._past(task, entry), *self._running(task, entry)]
        failures = self._number(task, entry, "fail_count")
        done = _truth(entry.get("done"))
        ended = [run.status for run in runs if run.status in ("completed", "failed")]
        used_up = failures >= policy.attempts_allowed(max_retries)
        if done and used_up and ended[-1:] == ["failed"]:
            self.notes.append(f"task {task}: called done, but it used up its attempts: it failed")
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
            status = str(item.get("status", ""))
            if status not in _PAST:
                self.notes.append(f"task {task}: history entry with status {status!r} passed over")
                continue
            started = self._when(task, item.get("started"))
            yield PastRun(_job(item), started, self._when(task, item.get("ended")), status)

    def _running(self, task: str, entry: Mapping[str, Any]) -> Iterator[PastRun]:
        for item in self._list(task, entry, "running"):
            job = _job(item)
            self.notes.append(f"task {task}: ran on v3's job {job}, taken as interrupted")
            yield PastRun(job, self._when(task, item.get("started")), None, "interrupted")

    def _list(self, task: str, entry: Mapping[str, Any], key: str) -> Iterator[dict[str, Any]]:
        items = entry.get(key)
        if items in (None, "", "~", "null"):
            return
        if not isinstance(items, list):
            self.notes.append(f"task {task}: {key} is not a list, passed over")
            return
        for item in items:
            if isinstance(item, dict):
                yield item
            else:
                self.notes.append(f"task {task}: {key} entry {item!r} passed over")

    def _number(self, task: str, entry: Mapping[str, Any], key: str) -> int:
        value = entry.get(key, "0")
        try:
            return max(0, int(value))
        except (TypeError, ValueError):
            self.notes.append(f"task {task}: {key} {value!r} is no number, taken as 0")
            return 0

    def _when(self, task: str, value: object) -> datetime | None:
        if value in (None, "", "~", "null"):
            return None
        try:
            return from_text(str(value))
        except (ValueError, OverflowError):
            self.notes.append(f"task {task}: {value!r} is no time, passed over")
            return None


def _job(item: Mapping[str, Any]) -> str:
    return str(item.get("job_id") or "?")


def _truth(value: object) -> bool:
    return isinstance(value, str) and value.lower() in ("true", "yes", "on", "1")
