"""Keeps state files in step with the store, without ever holding up what people wait for."""

import asyncio
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from jobman_core.clock import Clock
from jobman_core.interfaces.store import Store
from jobman_core.models.queue import Queue
from jobman_core.queue import state_file
from jobman_core.queue.lock import locked

_log = logging.getLogger(__name__)

#: Seconds that a state file may be behind, and how often its own cost that may be.
_BEHIND: Final = 2.0
_COSTS: Final = 10.0
#: Seconds for which who must write now waits for another writer.
_PATIENCE: Final = 5.0


class Mirror:
    """Writes ``<stem>_state.yaml`` for all queues of a process."""

    def __init__(self, store: Store, clock: Clock) -> None:
        """Keep what it works with; the store is an open one."""
        self._store = store
        self._clock = clock
        #: ``Queue.changes`` that is known to stand in the file, by queue.
        self._written: dict[str, int] = {}
        self._complaints: dict[str, str] = {}

    async def write(self, queue: Queue, *, now: bool = False) -> bool:
        """Write a queue's state file, if something changed since anybody last wrote it.

        Tells whether it is up to date now.

        It may be behind by two seconds, or ten times what its last writing cost. What goes wrong is
        logged: a view that cannot be written ends nobody's work.

        Args:
            queue: as the store has it this moment.
            now: write what changed at once, and wait a little for others who write.

        Raises:
            StoreError: the store cannot be read.
        """
        if self._written.get(queue.path) == queue.changes:
            return True
        target = state_file.path_of(Path(queue.path))
        lock = state_file.lock_of(target)
        try:
            async with locked(lock, self._clock, patience=_PATIENCE if now else 0.0) as turn:
                if turn:
                    await self._write(queue, target, now=now)
        except OSError as error:
            why = error.strerror or error
            self._complain(queue.path, f"{target} cannot be written ({why}): check its folder")
        return self._written.get(queue.path) == queue.changes

    async def _write(self, queue: Queue, target: Path, *, now: bool) -> None:
        home = await self._store.home_id()
        head = await asyncio.to_thread(state_file.read_head, target)
        if head is not None and head.home != home:
            self._complain(
                queue.path,
                f"{target} belongs to another home (id {head.home}): two homes must not share "
                "a tasks file",
            )
            return
        if head is not None and head.change >= queue.changes:
            self._written[queue.path] = queue.changes
            return
        if not now and head is not None and self._too_soon(head):
            return
        began = self._clock.monotonic()
        tasks = await self._store.tasks(queue.path)
        history = await self._store.history(queue.path)

        def put() -> None:
            if head is None and target.exists():
                # One of v3's: what was taken over of it may not be all that was in it.
                shutil.copy2(target, target.with_name(f"{target.name}.v3"))
            body = state_file.render_tasks(tasks, history)
            cost = self._clock.monotonic() - began
            new = state_file.Head(home, queue.changes, self._clock.now(), cost)
            state_file.write(target, state_file.render_head(new, Path(queue.path).name) + body)

        await _to_the_end(put)
        self._written[queue.path] = queue.changes
        self._complaints.pop(queue.path, None)

    def _too_soon(self, head: state_file.Head) -> bool:
        if head.written is None:
            return False
        age = (self._clock.now() - head.written).total_seconds()
        return 0 <= age < max(_BEHIND, _COSTS * head.cost)

    def _complain(self, path: str, text: str) -> None:
        """Log what is wrong with a state file, once."""
        if self._complaints.get(path) != text:
            self._complaints[path] = text
            _log.warning(text)


async def _to_the_end(work: Callable[[], None]) -> None:
    """Do work in a thread; who is cancelled waits for it, so that its lock is not given back."""
    working = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait([working])
        raise
