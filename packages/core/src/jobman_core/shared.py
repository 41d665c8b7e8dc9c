"""One process that drives all jobs that are given to it."""

import asyncio
import os
import traceback
from collections.abc import Callable
from typing import Final

from jobman_core.clock import to_text
from jobman_core.errors import HeldError, JobmanError
from jobman_core.hub import Hub
from jobman_core.jobs import Jobs
from jobman_core.process import Entry, Records, Roster
from jobman_core.run.journal import Journal
from jobman_core.run.lease import Tenure

#: Seconds between two looks at the roster: at one time-stamp, most of the time.
LOOK_EVERY: Final = 0.1
#: Seconds until a job is tried again that somebody else acts for, or a disk that refuses.
RETRY_EVERY: Final = 5.0
#: Nanoseconds for which a folder's time may not show all changes yet.
_UNSETTLED: Final = 50_000_000


class SharedController:
    """Drives the jobs on a roster, with the controllers that drive one job anywhere."""

    def __init__(
        self, hub: Hub, jobs: Jobs, roster: Roster, *, idle: float, say: Callable[[str], None]
    ) -> None:
        """Keep what it works with.

        Args:
            hub: the home.
            jobs: drives one job.
            roster: names the jobs.
            idle: seconds without a job after which it is over.
            say: gets what is to be said about the process itself, a line each.
        """
        self._hub = hub
        self._jobs = jobs
        self._roster = roster
        self._idle = idle
        self._say = say
        self._driven: dict[str, asyncio.Task[None]] = {}
        #: Those of them that were told to end.
        self._let_go: set[str] = set()
        self._looked_at = -1
        self._complaint = ""

    async def serve(self) -> None:
        """Drive what is asked for, until nothing was for some minutes."""
        self._tell(f"process {os.getpid()} begins")
        self._roster.begin_afresh()
        while not await self._serve():
            self._tell("it was taken off the books: registers anew")

    async def _serve(self) -> bool:
        """Drive what is asked for; tells whether there is nothing more to do for this process."""
        clock = self._hub.clock
        async with self._hub.tenure() as tenure:
            wishes = asyncio.create_task(self._jobs.finish_wishes())
            last = clock.monotonic()
            try:
                while not tenure.retired:
                    await self._follow(tenure)
                    now = clock.monotonic()
                    last = now if self._driven else last
                    if self._is_replaced():
                        self._tell("ends: another process does what it did")
                        return True
                    if now - last >= self._idle and await self._leave():
                        self._tell(f"ends: it had no job for {self._idle:g} s")
                        return True
                    await clock.sleep(LOOK_EVERY)
            finally:
                # What is not finished stays on the books and on the roster, for the next one.
                left = [wishes, *self._driven.values()]
                for task in left:
                    task.cancel()
                await asyncio.gather(*left, return_exceptions=True)
                self._driven.clear()
                self._looked_at = -1
        return False

    def _is_replaced(self) -> bool:
        """Tell whether the home has another such process now, as after its records were removed."""
        try:
            known = Records.of_home(self._hub.home.root).read(self._roster.process)
        except (OSError, JobmanError):
            return False
        return known is not None and known.pid != os.getpid() and known.state() != "gone"

    async def _follow(self, tenure: Tenure) -> None:
        """Begin what was added to the roster, and end what was taken off."""
        for name in [name for name, task in self._driven.items() if task.done()]:
            del self._driven[name]
            self._let_go.discard(name)
            self._looked_at = -1
        try:
            changed_at = self._roster.changed_at()
            if changed_at == self._looked_at:
                return
            entries = await asyncio.to_thread(self._roster.entries)
        except OSError as error:
            # What is asked for is not known now: what is driven is driven on.
            self._complain("read", error)
            return
        settled = self._hub.clock.now().timestamp() * 1e9 - changed_at > _UNSETTLED
        self._looked_at = changed_at if settled else -1
        for name in self._driven.keys() - entries.keys() - self._let_go:
            self._let_go.add(name)
            self._driven[name].cancel()
        for name in entries.keys() - self._driven.keys():
            task = asyncio.create_task(self._drive(tenure, name, entries[name]))
            self._driven[name] = task

    async def _drive(self, tenure: Tenure, name: str, entry: Entry) -> None:
        """Drive one job; whatever becomes of it, the others go on."""
        try:
            self._roster.begin(name)
            try:
                over = await self._is_over(tenure, entry.job)
            finally:
                self._roster.finish(name)
            if over:
                self._roster.remove(name, entry.token)
                return
        except OSError as error:
            self._complain("written", error)
        await self._hub.clock.sleep(RETRY_EVERY)

    async def _is_over(self, tenure: Tenure, job: str) -> bool:
        """Be a job's controller; tells whether there is nothing left to do for it here."""
        try:
            await self._jobs.drive(job, in_session=False, tenure=tenure)
        except HeldError:
            # Somebody acts for it at this moment, and may leave it to be driven on.
            return False
        except JobmanError as error:
            await self._leave_word(job, f"error: {error}")
        except Exception:  # noqa: BLE001 - a fault of ours ends this job's controller alone
            await self._leave_word(job, traceback.format_exc())
        return True

    async def _leave_word(self, job: str, text: str) -> None:
        """Say something where last words of a session of the job's own would stand."""
        hub = self._hub
        try:
            user = (await hub.store.record(job)).job.user
        except JobmanError as error:
            self._tell(f"job {job}: {text} ({error})")
            return
        Journal(hub.home.logs(user, job), hub.clock, hub.scribe, hub.echo).job(text)
        await hub.scribe.do(lambda: None)

    async def _leave(self) -> bool:
        """Be no session any more, unless somebody has just asked for something."""
        try:
            records = Records.of_home(self._hub.home.root)
            async with records.locked(self._roster.lock):
                if self._roster.entries():
                    return False
                records.remove(self._roster.process)
        except OSError as error:
            self._complain("read", error)
            return False
        return True

    def _complain(self, what: str, error: OSError) -> None:
        """Say what cannot be done with the roster, once."""
        text = f"the roster cannot be {what} ({error.strerror or error})"
        if text != self._complaint:
            self._complaint = text
            self._tell(f"{text}: tries again")

    def _tell(self, text: str) -> None:
        self._say(f"{to_text(self._hub.clock.now())} {text}")
