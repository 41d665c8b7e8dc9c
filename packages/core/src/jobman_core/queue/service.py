"""A queue is a tasks file, what the store knows of it, and the state file that people read."""

import asyncio
import hashlib
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final, Protocol

import attrs

from jobman_core.clock import Clock
from jobman_core.errors import (
    HeldError,
    InvalidInputError,
    JobmanError,
    NotFoundError,
    StoreError,
)
from jobman_core.home import Home
from jobman_core.interfaces.store import Store
from jobman_core.models.queue import Queue
from jobman_core.models.task import QueueDefinition
from jobman_core.queue import state_file, v3_state
from jobman_core.queue.lock import locked
from jobman_core.queue.mirror import Mirror

_log = logging.getLogger(__name__)

#: A file that changed so lately may change again without its times showing it.
_UNSETTLED: Final = timedelta(seconds=2)
#: Seconds for which a look at a file's times stands.
_BRIEF: Final = 0.5
#: Seconds after which to parse a file even while another seems to.
_PATIENCE: Final = 120.0


@attrs.frozen
class _Signature:
    """By what a changed file is known without reading it."""

    mtime: int
    #: Betrays those who set the times back.
    ctime: int
    size: int
    inode: int

    @classmethod
    def of(cls, stat: os.stat_result) -> "_Signature":
        """Take it from a look at the file."""
        return cls(stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino)


@attrs.frozen
class _Look:
    """What a look at a tasks file showed."""

    #: None: a file that just changed is not to be known by its times yet.
    signature: _Signature | None = None
    content_hash: str = ""
    problem: str = ""
    unchanged: bool = False


class Heartbeat(Protocol):
    """Tells when to look again."""

    def changes(self, queue: str) -> int | None:
        """Give a number that rises whenever a queue changed; None: nobody has looked yet."""

    async def next_look(self) -> None:
        """Return when there may be news."""


@attrs.define
class _Mirroring:
    """Keeps the state file of one queue up to date, for so many who want it."""

    task: asyncio.Task[None]
    wanted: int = 0


class QueueService:
    """Keeps the store in step with tasks files, and state files in step with the store."""

    def __init__(
        self, store: Store, home: Home, clock: Clock, read: Callable[[Path], QueueDefinition]
    ) -> None:
        """Keep what it works with.

        Args:
            store: an open one.
            home: where locks lie.
            clock: tells when a state file was written.
            read: reads a tasks file; raises ConfigError with all that is wrong with it.
        """
        self._store = store
        self._home = home
        self._clock = clock
        self._read = read
        #: What paths as they are given lead to, links followed.
        self._real: dict[Path, Path] = {}
        self._seen: dict[str, _Signature] = {}
        #: When a path was last looked at by its times alone, and what that showed.
        self._glances: dict[Path, tuple[float, bool]] = {}
        self._mirror = Mirror(store, clock)
        self._mirroring: dict[Path, _Mirroring] = {}

    async def open(self, path: Path) -> Queue:
        """Give a tasks file's queue, with the newest good definitions in force.

        What jobman v3 left in the state file is taken over, once.

        Raises:
            ConfigError: the file is bad, and no good version of it was ever in force.
            HeldError: another home works on it.
            InvalidInputError: there is a state file that cannot be read.
        """
        real = await self._resolved(path)
        old = await self._refuse_others(real)
        if not await self._defined(real):
            async with self._turn_to_parse(real, _PATIENCE):
                if not await self._defined(real):
                    await self._begin(real, old=old)
        queue = await self._catch_up(real, patience=_PATIENCE)
        await self.mirror(real, now=old)
        return queue

    async def refresh(self, path: Path) -> Queue:
        """Look whether a tasks file changed; one look at its times if it did not.

        A file that is missing, half saved or wrong becomes the queue's problem, and the last good
        version stays in force.

        Raises:
            NotFoundError: the queue was never opened in this home.
        """
        return await self._catch_up(await self._resolved(path), patience=0.0)

    async def changed(self, path: Path) -> bool:
        """Tell, by its times alone, whether a tasks file may have changed since it was read."""
        real, now = await self._resolved(path), self._clock.monotonic()
        asked, differs = self._glances.get(real, (now - _BRIEF, False))
        if now - asked >= _BRIEF:
            # All who wait for a task in this process ask once a second: one look is for all.
            differs = await asyncio.to_thread(self._differs, real)
            self._glances[real] = now, differs
        return differs

    async def mirror(self, path: Path, *, now: bool = False) -> bool:
        """Write the state file of a tasks file, if something changed.

        Tells whether it is up to date now.

        It may be behind by two seconds, or ten times what its last writing cost. What goes wrong is
        logged: a view that cannot be written ends nobody's work.

        Args:
            path: the tasks file.
            now: write what changed at once, and wait a little for others who write.
        """
        queue = await self._store.queue(str(await self._resolved(path)))
        return await self._mirror.write(queue, now=now)

    @asynccontextmanager
    async def mirroring(self, path: Path, pulse: Heartbeat) -> AsyncIterator[None]:
        """Keep a state file up to date for the length of a block; one does it for all blocks.

        Args:
            path: the tasks file.
            pulse: tells when to look again.
        """
        real = await self._resolved(path)
        ours = self._mirroring.get(real)
        if ours is None:
            ours = _Mirroring(asyncio.create_task(self._mirror_on(real, pulse)))
            self._mirroring[real] = ours
        ours.wanted += 1
        try:
            yield
        finally:
            ours.wanted -= 1
            if not ours.wanted:
                del self._mirroring[real]
                ours.task.cancel()
                await asyncio.gather(ours.task, return_exceptions=True)
                try:
                    await self.mirror(real, now=True)
                except JobmanError as error:
                    # A view that is behind is brought up to date by the next who looks.
                    _log.warning("the state file of %s cannot be written now: %s", real, error)

    async def _mirror_on(self, path: Path, pulse: Heartbeat) -> None:
        written: int | None = -1
        complaint = ""
        while True:
            changes = pulse.changes(str(path))
            try:
                if changes != written and await self.mirror(path):
                    written, complaint = changes, ""
            except JobmanError as error:
                # A view that cannot be written ends nobody's work.
                if str(error) != complaint:
                    complaint = str(error)
                    _log.warning("the state file of %s cannot be written now: %s", path, error)
            await pulse.next_look()

    # -- reading the tasks file ------------------------------------------------------------

    async def _resolved(self, path: Path) -> Path:
        """Give the name of the queue of a file: where links lead, looked up once for each path.

        A file that became a link after its queue was opened is that queue's still.
        """
        if path not in self._real:
            folder = await asyncio.to_thread(path.parent.resolve)
            known = {queue.path for queue in await self._store.queues()}
            named = folder / path.name
            found = named if str(named) in known else await asyncio.to_thread(path.resolve)
            self._real[path] = found
        return self._real[path]

    async def _defined(self, path: Path) -> bool:
        """Tell whether a version of the file was ever in force."""
        try:
            return bool((await self._store.queue(str(path))).content_hash)
        except NotFoundError:
            return False

    async def _begin(self, path: Path, *, old: bool) -> None:
        """Put the first version in force; nothing is written before it is known to be good."""
        definition = await asyncio.to_thread(self._read, path)
        await self._store.open_queue(str(path))
        if old:
            # Before the tasks are defined, so that a crash in between loses nothing.
            await self._take_over(path, definition)
        await self._store.define(str(path), definition)

    async def _catch_up(self, path: Path, patience: float) -> Queue:
        queue = await self._store.queue(str(path))
        look = await asyncio.to_thread(self._look, path)
        if look.unchanged:
            return queue
        if look.problem:
            self._seen.pop(queue.path, None)
            return await self._problem(queue, look.problem)
        if look.content_hash != queue.content_hash:
            try:
                async with self._turn_to_parse(path, patience) as turn:
                    if not turn and not patience:
                        # Somebody reads it this moment: go on with what is in force, look again.
                        return queue
                    return await self._parse(path, look)
            except (StoreError, OSError) as error:
                # Nobody can write in the home now, which is no reason not to show what is there.
                why = error if isinstance(error, StoreError) else error.strerror
                problem = f"{path} has changed, and cannot be taken in now: {why}"
                return attrs.evolve(queue, problem=problem)
        self._remember(queue.path, look)
        return await self._problem(queue, "")

    async def _parse(self, path: Path, look: _Look) -> Queue:
        """Put a new version of the file in force, unless somebody did so by now."""
        queue = await self._store.queue(str(path))
        if look.content_hash == queue.content_hash:
            self._remember(queue.path, look)
            return await self._problem(queue, "")
        try:
            definition = await asyncio.to_thread(self._read, path)
            queue = await self._store.define(queue.path, definition)
        except InvalidInputError as error:
            self._remember(queue.path, look)
            return await self._problem(queue, str(error))
        if definition.content_hash == look.content_hash:
            self._remember(queue.path, look)
        return queue

    async def _problem(self, queue: Queue, problem: str) -> Queue:
        if queue.problem == problem:
            return queue
        try:
            await self._store.set_problem(queue.path, problem)
        except StoreError:
            # Who asks is told all the same, and it is written down at the next look.
            self._seen.pop(queue.path, None)
        return attrs.evolve(queue, problem=problem)

    def _remember(self, path: str, look: _Look) -> None:
        if look.signature is not None:
            self._seen[path] = look.signature

    def _differs(self, path: Path) -> bool:
        try:
            return self._seen.get(str(path)) != _Signature.of(path.stat())
        except OSError:
            return True

    def _look(self, path: Path) -> _Look:
        """Look at a file: at its times first, at its content if they changed."""
        try:
            stat = path.stat()
            signature = _Signature.of(stat)
            if self._seen.get(str(path)) == signature:
                return _Look(unchanged=True)
            content_hash = _digest(path.read_bytes())
        except FileNotFoundError:
            return _Look(problem=f"{path} is missing: put it back; what it said is still in force")
        except OSError as error:
            return _Look(problem=f"{path} cannot be read ({error.strerror}): check its permissions")
        age = self._clock.now().timestamp() - stat.st_mtime
        settled = age > _UNSETTLED.total_seconds()
        return _Look(signature if settled else None, content_hash)

    # -- the state file that is there -------------------------------------------------------

    async def _refuse_others(self, path: Path) -> bool:
        """Refuse a file that another home works on; tells whether its state file is not ours."""
        target = state_file.path_of(path)
        try:
            head = await asyncio.to_thread(state_file.read_head, target)
        except OSError as error:
            raise InvalidInputError(
                f"{target} cannot be read ({error.strerror or error}): check its permissions"
            ) from error
        if head is None:
            return True
        if head.home != await self._store.home_id():
            raise HeldError(
                f"{path} belongs to another home (id {head.home}): work there, or remove {target} "
                "to start afresh here"
            )
        return False

    async def _take_over(self, path: Path, definition: QueueDefinition) -> None:
        """Take over what v3 left."""
        limits = {task.id: task.max_retries for task in definition.tasks}
        target = state_file.path_of(path)
        found = await asyncio.to_thread(v3_state.read, target, limits)
        if found is None:
            return
        for note in found.notes:
            _log.warning("%s: %s", target, note)
        await self._store.import_state(str(path), found.counters, found.history)

    @asynccontextmanager
    async def _turn_to_parse(self, path: Path, patience: float) -> AsyncIterator[bool]:
        """See to it that of ten workers one parses a new version, while the others go on."""
        name = f"parse-{_digest(str(path).encode('utf-8', 'surrogateescape'))[:16]}.lock"
        async with locked(self._home.state / name, self._clock, patience=patience) as turn:
            yield turn


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
