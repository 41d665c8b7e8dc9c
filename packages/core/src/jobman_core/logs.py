"""Reading what programs and controllers said, while they still say it or later."""

from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from functools import partial
from typing import Final

import attrs

from jobman_core.errors import NotFoundError, nearest
from jobman_core.hub import Hub
from jobman_core.log_files import Reader, Source, Tail, steps_in
from jobman_core.models.attempt import Attempt
from jobman_core.models.job import Desired, Step
from jobman_core.models.lease import Liveness
from jobman_core.models.view import LogChunk

#: Seconds between two looks while following.
LOOK_EVERY: Final = 0.25
#: So many of a job's newest events tell of what was prepared for its present attempt.
_NEWEST: Final = 100
_NO_CONTROLLER: Final = "job {0} has no controller: `jobman resume {0}` starts one"
#: What is to be known of a job whose attempt is followed, where nobody drives it on.
_UNDRIVEN: Final = {
    Liveness.NONE: _NO_CONTROLLER,
    Liveness.DEAD: _NO_CONTROLLER,
    Liveness.HUNG: "the controller of job {0} hangs: `jobman resume {0}` replaces it",
}


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


class _PassedOver:
    """Tells, once each, of steps that went wrong on the hosts of an attempt, which did without."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._told: set[int] = set()

    async def fresh(self, attempts: Iterable[Attempt]) -> list[LogChunk]:
        """Give what has become so of attempts that were opened."""
        return [chunk for attempt in attempts for chunk in await self._of(attempt)]

    async def _of(self, attempt: Attempt) -> list[LogChunk]:
        try:
            record = await self._hub.store.record(attempt.job)
        except NotFoundError:
            # It ran with Jobman v3, and its job was not taken over: its log was.
            return []
        if record.slice is None or record.slice.generation != attempt.generation:
            return []
        events = await self._hub.store.newest_events(attempt.job, _NEWEST)
        began = max((event.id for event in events if event.kind == "slice.ready"), default=0)
        news = [
            event
            for event in events
            if event.kind == "step.failed" and event.id > began and event.id not in self._told
        ]
        self._told |= {event.id for event in news}
        steps = steps_in(self._hub.home.logs(record.job.user, record.job.id))
        return [
            LogChunk(
                None, 0, 0, b"", notice=_with_its_log(event.text, attempt.job, steps), urgent=True
            )
            for event in news
        ]


def _with_its_log(text: str, job: str, steps: Iterable[str]) -> str:
    """Say where the output of a step is that went wrong."""
    name = next((step for step in steps if step.removeprefix("prefix_") in text), "NAME")
    return f"{text}: `jobman logs {job} --step {name}` shows what it said"


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
        reader = Reader(path, partial(LogChunk, None, 0, 0))
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

    async def step(
        self, job: str, name: str, *, worker: int | None, follow: bool, tail: Tail | None
    ) -> AsyncGenerator[LogChunk, None]:
        """Read what a step of preparing a job's hosts said; who follows does so while it prepares.

        Raises:
            NotFoundError: there is no log of such a step.
        """
        hub = self._hub
        record = await hub.record(job)
        job = record.job.id
        folder = hub.home.logs(record.job.user, job)
        steps = steps_in(folder)
        if name not in steps:
            near = nearest(name, steps)
            there = f"there are those of {', '.join(steps)}" if steps else "no step has run yet"
            hint = f"did you mean {near}?" if near else there
            msg = f"job {job} has no log of a step {name!r}: {hint}"
            raise NotFoundError(msg)
        hosts = len(record.slice.hosts) if record.slice else 1
        source = Source(folder, name, worker, hosts=hosts)
        if tail is not None:
            source.skip_to_tail(tail)
        while True:
            over = not follow or (await hub.store.record(job)).job.step is not Step.PREPARE
            for chunk in source.read():
                yield chunk
            if over:
                return
            await hub.clock.sleep(LOOK_EVERY)

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
        fresh = [*await _first(chosen, run=run, follow=follow)]
        if not follow:
            _check_host(fresh, worker)
        from_end = {attempt.token: tail for attempt in fresh}
        sources: dict[str, Source] = {}
        seen = {attempt.token for attempt in await chosen.attempts()}
        undriven, waiting = _Notices(self._hub), _Waiting(chosen.state)
        passed_over = _PassedOver(self._hub)
        while True:
            over = not follow or await chosen.over()
            attempts = {attempt.token: attempt for attempt in await chosen.attempts()}
            fresh += _newcomers(attempts.values(), seen) if run is None else ()
            for chunk in await passed_over.fresh(fresh):
                yield chunk
            for one in fresh:
                sources[one.token] = await self._open(one, worker, from_end.get(one.token))
            for chunk in _read(sources, attempts):
                yield chunk
            sources = {token: one for token, one in sources.items() if attempts[token].live}
            told = await undriven.fresh(attempts[token].job for token in sources)
            if follow and run is None and (over or not sources):
                told += await waiting.fresh()
            for chunk in told:
                yield chunk
            if over or (run is not None and not sources):
                return
            await self._hub.clock.sleep(LOOK_EVERY)
            fresh = []

    async def _open(self, attempt: Attempt, worker: int | None, tail: Tail | None = None) -> Source:
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
        source = Source(path.parent, prefix, worker, task=attempt.task, number=attempt.number)
        if tail is not None:
            source.skip_to_tail(tail)
        return source


def _read(sources: Mapping[str, Source], attempts: Mapping[str, Attempt]) -> Iterator[LogChunk]:
    """Give what is new of attempts, by token."""
    for token, source in sources.items():
        # They are known once it was launched.
        source.hosts = len(attempts[token].hosts)
        yield from source.read()


def _newcomers(attempts: Iterable[Attempt], seen: set[str]) -> list[Attempt]:
    """Give the attempts that were not there before; they are from now on."""
    fresh = [attempt for attempt in attempts if attempt.token not in seen]
    seen.update(attempt.token for attempt in fresh)
    return fresh


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
