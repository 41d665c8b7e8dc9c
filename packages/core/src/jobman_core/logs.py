"""Reading what programs and controllers said, while they still say it or later."""

import errno
import glob
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import attrs

from jobman_core.errors import NotFoundError
from jobman_core.hub import Hub
from jobman_core.models.attempt import Attempt
from jobman_core.models.job import Desired
from jobman_core.models.lease import Liveness
from jobman_core.models.view import LogChunk

#: Seconds between two looks while following.
LOOK_EVERY: Final = 0.25
_CHUNK: Final = 1 << 20
_NO_CONTROLLER: Final = "job {0} has no controller: `jobman resume {0}` starts one"
#: What is to be known of a job whose attempt is followed, where nobody drives it on.
_UNDRIVEN: Final = {
    Liveness.NONE: _NO_CONTROLLER,
    Liveness.DEAD: _NO_CONTROLLER,
    Liveness.HUNG: "the controller of job {0} hangs: `jobman resume {0}` replaces it",
}


@attrs.frozen
class Tail:
    """How much of a log is read: its end."""

    lines: int
    #: Bytes, of each file; a line may be of any length. None: whatever the lines have.
    most: int | None = None


@attrs.define
class _Reader:
    """One file, read on from where it was left."""

    path: Path
    #: Makes a chunk of its bytes, and whether they are the first.
    make: Callable[[bytes, bool], LogChunk]
    offset: int = 0
    started: bool = False

    def skip_to_tail(self, tail: Tail) -> None:
        """Begin before the end, without reading what stands before that."""
        try:
            with self.path.open("rb") as file:
                end = file.seek(0, os.SEEK_END)
                least = 0 if tail.most is None else max(0, end - tail.most)
                found, position = 0, end
                while position > least and found <= tail.lines:
                    step = min(_CHUNK // 16, position)
                    position -= step
                    file.seek(position)
                    block = file.read(step)
                    # The newline at the very end begins no line.
                    place = step - 1 if position + step == end else step
                    while (place := block.rfind(b"\n", 0, place)) >= 0:
                        found += 1
                        if found == tail.lines:
                            self.offset = max(position + place + 1, least)
                            return
        except FileNotFoundError:
            return
        self.offset = end if tail.lines == 0 else least

    def read(self) -> LogChunk | None:
        """Give what is new, a piece at a time; None where nothing is."""
        try:
            with self.path.open("rb") as file:
                try:
                    # What was left out of a copy is a hole.
                    self.offset = os.lseek(file.fileno(), self.offset, os.SEEK_DATA)
                except OSError as error:
                    if error.errno != errno.ENXIO:
                        raise
                    return None
                file.seek(self.offset)
                data = file.read(_CHUNK)
        except FileNotFoundError:
            return None
        if not data:
            return None
        self.offset += len(data)
        first, self.started = not self.started, True
        return self.make(data, first)


class _Source:
    """The files of one attempt; new ones come as its hosts say their first word."""

    def __init__(self, attempt: Attempt, folder: Path, prefix: str, worker: int | None) -> None:
        self.attempt = attempt
        self._folder = folder
        self._pattern = f"{glob.escape(prefix)}_worker_{'*' if worker is None else worker}.log"
        self._readers: dict[int, _Reader] = {}

    def skip_to_tail(self, tail: Tail) -> None:
        """Begin before the end of each file."""
        self._find()
        for reader in self._readers.values():
            reader.skip_to_tail(tail)

    def read(self) -> Iterator[LogChunk]:
        """Give what is new on all hosts."""
        self._find()
        for _, reader in sorted(self._readers.items()):
            while chunk := reader.read():
                yield chunk

    def _find(self) -> None:
        for path in self._folder.glob(self._pattern):
            worker = path.stem.rpartition("_")[2]
            if worker.isdigit() and int(worker) not in self._readers:
                make = partial(LogChunk, self.attempt.task, self.attempt.number, int(worker))
                self._readers[int(worker)] = _Reader(path, make)


@attrs.frozen
class Selection:
    """Whose attempts are read."""

    #: All of them, oldest first.
    attempts: Callable[[], Awaitable[Sequence[Attempt]]]
    #: Whether no further attempt can be expected.
    over: Callable[[], Awaitable[bool]]
    #: What it is now, and why: a line that begins with the status.
    state: Callable[[], Awaitable[tuple[str, str]]]


class _Notices:
    """Tells, once each time, of attempts that no controller looks after."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._told: set[str] = set()

    async def fresh(self, jobs: Iterable[str]) -> list[LogChunk]:
        """Give what has become so of the jobs whose output is awaited."""
        records = [await self._hub.store.record(job) for job in sorted(set(jobs))]
        texts = [
            _UNDRIVEN[liveness].format(record.job.id)
            for record in records
            if record.attempts and (liveness := self._hub.liveness(record)) in _UNDRIVEN
        ]
        news = [text for text in texts if text not in self._told]
        self._told = set(texts)
        return [LogChunk(None, 0, 0, b"", notice=text, urgent=True) for text in news]


class _Waiting:
    """Tells who follows why nothing is said, once for each status, and how it ended."""

    def __init__(self, state: Callable[[], Awaitable[tuple[str, str]]]) -> None:
        self._state = state
        self._told = ""

    async def fresh(self) -> list[LogChunk]:
        """Give what has become so since it was last told."""
        status, text = await self._state()
        if status == self._told:
            return []
        self._told = status
        return [LogChunk(None, 0, 0, b"", notice=text)]


class Logs:
    """Finds and follows logs."""

    def __init__(self, hub: Hub) -> None:
        """Keep the home."""
        self._hub = hub

    async def controller(
        self, job: str, *, follow: bool, tail: Tail | None
    ) -> AsyncGenerator[LogChunk, None]:
        """Read what a job's controllers said; who follows is told when there is none."""
        record = await self._hub.record(job)
        path = self._hub.home.logs(record.job.user, record.job.id) / "job.log"
        reader = _Reader(path, partial(LogChunk, None, 0, 0))
        if tail is not None:
            reader.skip_to_tail(tail)
        notices = _Notices(self._hub)
        while True:
            over = not follow or await self.job_is_over(record.job.id)
            while chunk := reader.read():
                yield chunk
            if over:
                return
            for chunk in await notices.fresh([record.job.id]):
                yield chunk
            await self._hub.clock.sleep(LOOK_EVERY)

    async def job_is_over(self, job: str) -> bool:
        """Tell whether a job has ended, or nobody drives it on."""
        record = await self._hub.store.record(job)
        if record.attempts:
            return False
        if record.job.desired is not Desired.RUNNING or record.job.ending is not None:
            return True
        return self._hub.liveness(record) in (Liveness.NONE, Liveness.DEAD)

    async def read(
        self,
        chosen: Selection,
        *,
        run: int | None,
        worker: int | None,
        follow: bool,
        tail: Tail | None,
    ) -> AsyncGenerator[LogChunk, None]:
        """Read attempts' output, in the order in which they began.

        Who follows is told why nothing runs, how it ended, and when nobody drives a job on.

        Args:
            chosen: whose attempts.
            run: one attempt's number; None: the present or last one, and all that come after.
            worker: one host; None: all.
            follow: go on as more is said, until no more can be.
            tail: where to begin; None: at the beginning.

        Raises:
            NotFoundError: no such attempt; without following also when nothing has run yet, or
                not on that host.
        """
        first = await _first(chosen, run=run, follow=follow)
        if not follow:
            _check_host(first, worker)
        sources = [await self._open(attempt, worker, tail) for attempt in first]
        seen = {attempt.token for attempt in await chosen.attempts()}
        undriven, waiting = _Notices(self._hub), _Waiting(chosen.state)
        while True:
            over = not follow or await chosen.over()
            attempts = await chosen.attempts()
            if run is None:
                sources += await self._newcomers(attempts, seen, worker)
            for source in sources:
                for chunk in source.read():
                    yield chunk
            live = {attempt.token for attempt in attempts if attempt.live}
            sources = [source for source in sources if source.attempt.token in live]
            told = await undriven.fresh(source.attempt.job for source in sources)
            if follow and run is None and (over or not sources):
                told += await waiting.fresh()
            for chunk in told:
                yield chunk
            if over or (run is not None and not sources):
                return
            await self._hub.clock.sleep(LOOK_EVERY)

    async def _newcomers(
        self, attempts: Sequence[Attempt], seen: set[str], worker: int | None
    ) -> list[_Source]:
        """Open the attempts that were not there before."""
        fresh = [attempt for attempt in attempts if attempt.token not in seen]
        seen.update(attempt.token for attempt in fresh)
        return [await self._open(attempt, worker) for attempt in fresh]

    async def _open(
        self, attempt: Attempt, worker: int | None, tail: Tail | None = None
    ) -> _Source:
        hub = self._hub
        if attempt.queue is None or attempt.task is None:
            job = (await hub.store.record(attempt.job)).job
            path = hub.home.command_log(job.user, job.id, attempt.number, 0)
        else:
            queue = await hub.store.queue(attempt.queue)
            try:
                hidden = (await hub.store.task(attempt.queue, attempt.task)).spec.hide
            except NotFoundError:
                # Removed from the file since: its logs stay where they are.
                hidden = hub.home.task(queue.folder, attempt.task, hidden=True).is_dir()
            folder = hub.home.task(queue.folder, attempt.task, hidden=hidden)
            path = hub.home.task_log(folder, attempt.number, attempt.job, 0)
        prefix = path.name.removesuffix("_worker_0.log")
        source = _Source(attempt, path.parent, prefix, worker)
        if tail is not None:
            source.skip_to_tail(tail)
        return source


def _check_host(attempts: Iterable[Attempt], worker: int | None) -> None:
    """Raise NotFoundError for a host that an attempt is known not to run on."""
    for attempt in attempts:
        if worker is not None and attempt.hosts and worker not in attempt.hosts:
            hosts = ", ".join(map(str, attempt.hosts))
            msg = f"run {attempt.number} has no host {worker}: it has {hosts}"
            raise NotFoundError(msg)


async def _first(chosen: Selection, *, run: int | None, follow: bool) -> Sequence[Attempt]:
    """Give the attempts to begin with."""
    known = await chosen.attempts()
    if run is not None:
        found = [attempt for attempt in known if attempt.number == run]
        if not found:
            numbers = ", ".join(str(attempt.number) for attempt in known) or "none"
            msg = f"no run {run}: there are {numbers}"
            raise NotFoundError(msg)
        return found
    if not known and not follow:
        msg = "nothing has run yet: `jobman show` says why"
        raise NotFoundError(msg)
    return known[-1:]
