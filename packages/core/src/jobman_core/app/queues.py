"""What a facade does with queues."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jobman_core.app.opening import Opening

# Start-up is paid by everybody: what only some commands need is imported when they run.
if TYPE_CHECKING:
    from jobman_core.models.view import Done, QueueView, TaskDetail


class QueuesPart(Opening):
    """Looking at queues and their tasks, and steering them."""

    async def queues(self) -> Sequence[Path]:
        """Give the tasks files of all queues that the home knows."""
        hub = await self._if_there()
        return [Path(queue.path) for queue in await hub.store.queues()] if hub else []

    async def queue(self, path: Path | None) -> "QueueView":
        """Give a queue, whole."""
        return await (await self._queues(path)).view(path)

    async def queue_task(self, path: Path | None, task: str) -> "TaskDetail":
        """Give one task of a queue, with its history and logs."""
        return await (await self._queues(path)).detail(path, task)

    async def queue_running(self, path: Path | None, tasks: Sequence[str]) -> Sequence[str]:
        """Give those of the tasks that run now."""
        return await (await self._queues(path)).running(path, tasks)

    async def match_tasks(
        self,
        path: Path | None,
        *,
        ids: Sequence[str] = (),
        pattern: str | None = None,
        all: bool = False,  # noqa: A002 - the option's own word
        failed: bool = False,
    ) -> Sequence[str]:
        """Give the tasks that a reset is meant for."""
        queues = await self._queues(path)
        return await queues.match(path, ids=ids, pattern=pattern, all=all, failed=failed)

    async def reset(self, path: Path | None, tasks: Sequence[str]) -> None:
        """Let tasks run from the start again; what runs of them is ended first."""
        await (await self._queues(path)).reset(path, tasks)

    async def prioritize(self, path: Path | None, task: str) -> None:
        """Let a task be picked before all others, once."""
        await (await self._queues(path)).prioritize(path, task)

    async def mark_done(self, path: Path | None, task: str) -> None:
        """Call a task done."""
        await (await self._queues(path)).mark_done(path, task)

    async def cleanup(self, path: Path | None) -> "Sequence[Done]":
        """Resolve attempts whose controllers are lost; gives what became of each such job."""
        return await (await self._queues(path)).cleanup(path)
