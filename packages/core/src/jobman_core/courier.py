"""Notices: from the outbox to those who tell people."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from jobman_core.clock import Clock
from jobman_core.errors import JobmanError, NotFoundError, StoreError
from jobman_core.interfaces.store import Store
from jobman_core.models.event import Event
from jobman_core.models.job import Job
from jobman_core.models.notice import Notice, NotifyRule
from jobman_core.notices import KINDS, Facts, about_of, notice_of
from jobman_core.run.race import race

_log = logging.getLogger(__name__)

#: Seconds without another notice after which a burst is over.
SETTLE: Final = 5.0
#: Seconds for which a burst may go on before people hear of it.
LONGEST_BURST: Final = 30.0
#: Seconds between two looks at the store; one where nothing changed costs next to nothing.
LOOK_EVERY: Final = 1.0
#: Seconds until what could not be delivered is tried again, doubling.
FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 300.0
#: Events that are read at once.
_PAGE: Final = 1000
#: So many notices are told without waiting for more.
_MANY: Final = 1000
#: Facts that are kept between runs.
_CURSOR: Final = "cursor"
_TROUBLES: Final = "cursor.troubles"

Deliver = Callable[[Sequence[Notice]], Awaitable[None]]


class Courier:
    """Reads on from somebody's cursor, and gives them the notices, burst by burst."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        who: str,
        deliver: Deliver,
        *,
        lab: NotifyRule | None = None,
        settle: float = SETTLE,
    ) -> None:
        """Keep what it works with.

        Args:
            store: has the outbox and the cursor.
            clock: all that is waited for is waited for on it.
            who: whose cursor it is; one that is new begins with what comes from now on.
            deliver: tells of some; an error of jobman's brings the same ones again later.
            lab: who is told where neither a queue nor a job says so.
            settle: seconds without another notice after which a burst is over.
        """
        self._store = store
        self._clock = clock
        self._who = who
        self._deliver = deliver
        self._lab = lab
        self._settle = settle
        #: The newest event that was read; None: the cursor is not known yet.
        self._at: int | None = None
        self._troubles: dict[str, str] = {}
        #: The cursor as it is on the books.
        self._saved = 0
        #: Read, and not delivered yet.
        self._pending: list[Notice] = []
        #: What was delivered is not on the books yet.
        self._unsaved = False
        #: The last try to deliver failed.
        self._failing = False
        #: The store's version when all was read; None: look whatever it is.
        self._seen: int | None = None
        self._leaving = asyncio.Event()

    async def run(self) -> None:
        """Deliver, until :meth:`leave` says that it is enough."""
        leaving = False
        while not leaving:
            # What happened before is part of the round.
            leaving = self._leaving.is_set()
            try:
                await self._round(last=leaving)
            except StoreError as error:
                _log.debug("%s waits for the store: %s", self._who, error)
                await self._pause(LOOK_EVERY)

    def leave(self) -> None:
        """Deliver at once what there is, and end."""
        self._leaving.set()

    async def _round(self, *, last: bool) -> None:
        if self._at is None:
            await self._begin()
        if self._unsaved:
            await self._save()
        await self._gather()
        await self._hand_over(last=last)

    async def _begin(self) -> None:
        facts = await self._store.recall(self._who, prefix=_CURSOR)
        if _CURSOR in facts:
            self._at = self._saved = facts[_CURSOR]
            self._troubles = dict(facts.get(_TROUBLES, {}))
            return
        at = 0
        while events := await self._store.events(after=at, limit=10 * _PAGE):
            at = events[-1].id
        self._at = at
        await self._save()

    async def _save(self) -> None:
        assert self._at is not None  # noqa: S101 - for the type checker: it has begun
        self._unsaved = True
        facts = {_CURSOR: self._at, _TROUBLES: dict(self._troubles)}
        await self._store.remember(self._who, facts)
        self._saved, self._unsaved = self._at, False

    async def _gather(self) -> None:
        """Return once there is something to tell, and nothing more is coming for the moment."""
        first = last = self._clock.monotonic()
        while True:
            count = len(self._pending)
            await self._read()
            now = self._clock.monotonic()
            if len(self._pending) > count:
                first, last = (first if count else now), now
            over = now - last >= self._settle or now - first >= LONGEST_BURST
            full = len(self._pending) >= _MANY
            if self._leaving.is_set() or (self._pending and (over or full)):
                return
            await self._pause(LOOK_EVERY)

    async def _read(self) -> None:
        """Read what is new."""
        version = await self._store.version()
        if version == self._seen:
            return
        self._seen = None
        while len(self._pending) < _MANY:
            assert self._at is not None  # noqa: S101 - for the type checker: it has begun
            events = await self._store.events(after=self._at, limit=_PAGE)
            facts = await self._facts([event for event in events if event.kind in KINDS])
            # From here on nothing is waited for: an event is taken in whole, or read again.
            self._take_in(events, facts)
            if not self._pending and self._at - self._saved >= _PAGE:
                await self._save()
            if len(events) < _PAGE:
                self._seen = version
                return

    async def _facts(self, events: Sequence[Event]) -> dict[int, Facts]:
        """Give what notices of these events take besides, by event."""
        if not events:
            return {}
        jobs = {job: await self._job(job) for job in {event.job for event in events}}
        queues = {queue.path: queue.notify for queue in await self._store.queues()}
        return {
            event.id: Facts(jobs[event.job], queues.get(event.queue or ""), self._lab)
            for event in events
        }

    async def _job(self, job: str | None) -> Job | None:
        try:
            return None if job is None else (await self._store.record(job)).job
        except NotFoundError:
            return None

    def _take_in(self, events: Sequence[Event], facts: dict[int, Facts]) -> None:
        for event in events:
            about = about_of(event, self._troubles)
            if about is not None and event.id in facts:
                notice = notice_of(event, about, facts[event.id])
                if notice is not None:
                    self._pending.append(notice)
            self._at = event.id

    async def _hand_over(self, *, last: bool) -> None:
        """Deliver what is pending, and write down that it was."""
        pause = FIRST_PAUSE
        while self._pending:
            try:
                await self._deliver(tuple(self._pending))
            except JobmanError as error:
                self._complain(error)
                if last:
                    return
                last = self._leaving.is_set()
                await self._pause(self._clock.jitter(pause))
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                self._pending.clear()
                self._failing = False
                await self._save()

    def _complain(self, error: JobmanError) -> None:
        """Say once that something is wrong, however often it is tried."""
        if not self._failing:
            self._failing = True
            _log.warning("%s cannot tell people now, and tries on: %s", self._who, error)

    async def _pause(self, seconds: float) -> None:
        """Wait, but not when it is time to leave."""
        sleep = asyncio.ensure_future(self._clock.sleep(seconds))
        leave = asyncio.ensure_future(self._leaving.wait())
        async with race(sleep, leave):
            pass
