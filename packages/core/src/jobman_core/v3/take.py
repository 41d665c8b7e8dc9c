"""Taking over: jobs, queues and logs of v3 become this home's, each once."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import Final

import attrs

from jobman_core.config.job import parse_snapshot
from jobman_core.config.surroundings import Surroundings
from jobman_core.config.text import SMALL, decode, read_bytes
from jobman_core.errors import HeldError, JobmanError, StoreError
from jobman_core.files import digest, make_folder, put
from jobman_core.group import check_mine
from jobman_core.hub import Hub
from jobman_core.interfaces.store import JobDraft, OldJob
from jobman_core.models.job import Job
from jobman_core.models.v3 import TakenJob, TakenOver
from jobman_core.queue import state_file
from jobman_core.queue.lock import locked
from jobman_core.v3.bring import Bringer, put_copy
from jobman_core.v3.job import OldFile
from jobman_core.v3.look import Look, is_taken, same
from jobman_core.v3.sessions import live_sessions
from jobman_core.v3.tree import KEPT, read_tree

#: Whose facts in the store say what was taken over.
_WHO: Final = "v3"
#: Seconds for which another process that takes over into the same home is waited for.
_PATIENCE: Final = 10.0


async def take_over(
    folder: Path,
    hub: Hub,
    *,
    sessions: Callable[[], Awaitable[Collection[str]]] = live_sessions,
) -> TakenOver:
    """Take over what a checkout of v3 holds, and was not taken over before.

    Args:
        folder: the checkout, or its ``jobs`` folder.
        hub: the home.
        sessions: gives the names of sessions that live.

    Raises:
        NotFoundError: there is no such folder.
        HeldError: another process takes something over into this home.
        StoreError: the home cannot be written.
    """
    async with contextlib.AsyncExitStack() as stack:
        await _be_alone(hub, stack)
        tree = await asyncio.to_thread(read_tree, folder)
        known = await hub.store.recall(_WHO)
        ids = await hub.store.job_ids()
        live = await sessions()
        look = Look(tree, hub.surroundings(), live=live, known=known, ids=ids, user=hub.user)
        return await _Taking(look, hub).run()


async def _be_alone(hub: Hub, stack: contextlib.AsyncExitStack) -> None:
    """Let nobody else take over into this home until the stack is unwound."""
    path = hub.home.lock("import")
    try:
        taken = await stack.enter_async_context(locked(path, hub.clock, patience=_PATIENCE))
    except OSError as error:
        msg = f"{path} cannot be written ({error.strerror}): check its folder and its disk"
        raise StoreError(msg) from error
    if not taken:
        msg = "another `jobman import-v3` works in this home: wait for it, then try again"
        raise HeldError(msg)


async def plan_of(
    folder: Path,
    around: Surroundings,
    hub: Hub | None,
    user: str,
    *,
    sessions: Callable[[], Awaitable[Collection[str]]] = live_sessions,
) -> TakenOver:
    """Say what would be taken over, and write nothing.

    Args:
        folder: the checkout, or its ``jobs`` folder.
        around: what job files are read against.
        hub: the home; None: there is none yet.
        user: who acts.
        sessions: gives the names of sessions that live.

    Raises:
        NotFoundError: there is no such folder.
    """
    tree = await asyncio.to_thread(read_tree, folder)
    known = await hub.store.recall(_WHO) if hub else {}
    ids = await hub.store.job_ids() if hub else ()
    look = Look(tree, around, live=await sessions(), known=known, ids=ids, user=user)
    files = await asyncio.to_thread(look.files)
    bringer = Bringer(True, tree.problems)
    home = around.home
    for file in files:
        bringer.logs(file.folder.path / "logs", home.logs(file.folder.user, file.folder.id))
    for task in tree.tasks:
        bringer.logs(task.path, home.task("", task.name, hidden=task.hidden))
    queues = [look.here(queue) for queue in look.queues(files) if look.may_take(queue)]
    jobs = [file.taken("?" if file.folder.id in ids else file.folder.id) for file in files]
    return look.result(jobs, queues, bringer)


class _Taking:
    """Makes what is new this home's."""

    def __init__(self, look: Look, hub: Hub) -> None:
        self._look = look
        self._hub = hub
        self._jobs: list[TakenJob] = []
        self._queues: list[Path] = []
        self._bringer = Bringer(False, look.tree.problems)

    async def run(self) -> TakenOver:
        """Do it; what goes wrong with one thing leaves the others be."""
        files = await asyncio.to_thread(self._look.files)
        for queue in self._look.queues(files):
            if await asyncio.to_thread(self._look.may_take, queue):
                await self._guard(queue, self._queue(queue))
        for file in files:
            await self._guard(file.folder.path, self._job(file))
        await self._task_logs()
        return self._look.result(self._jobs, self._queues, self._bringer)

    async def _guard(self, what: Path, work: Awaitable[None]) -> None:
        try:
            await work
        except (JobmanError, OSError) as error:
            self._look.blame(what, error)

    async def _queue(self, source: Path) -> None:
        target = self._look.here(source)
        await asyncio.to_thread(_bring_queue, source, target)
        queue = await self._hub.queues.open(target)
        await self._hub.store.remember(_WHO, {f"queue:{source}": queue.path})
        self._queues.append(target)

    async def _job(self, file: OldFile) -> None:
        store, user = self._hub.store, file.folder.user
        queue = None if file.queue is None else str(self._look.here(file.queue))
        old = file.old()
        key = f"job:{file.folder.path}"
        begun = self._look.known.get(key)
        if begun is not None:
            # It is no job: whoever began was killed in the midst of it.
            await store.discard_job(begun)
        job = await self._draft(file, file.draft(queue), old, begun)
        try:
            await store.remember(_WHO, {key: job.id})
            await asyncio.to_thread(self._put_files, file, job, file.snapshot(queue))
            config = self._hub.home.config(user, job.id)
            await store.publish_job(job.id, spec_hash=digest(config), old=old)
        except BaseException:
            await store.discard_job(job.id)
            await store.remember(_WHO, {key: None})
            raise
        self._jobs.append(file.taken(job.id))

    async def _draft(self, file: OldFile, draft: JobDraft, old: OldJob, begun: str | None) -> Job:
        """Take an id whose folder is free, or is that of the job itself, or was begun for it."""
        wanted = old
        while True:
            job = await self._hub.store.draft_job(draft, wanted)
            folder = self._hub.home.job(job.user, job.id)
            if job.id == begun or same(folder, file.folder.path) or not is_taken(folder):
                return job
            await self._hub.store.discard_job(job.id)
            wanted = attrs.evolve(old, id=None)

    def _put_files(self, file: OldFile, job: Job, text: str) -> None:
        home, source = self._hub.home, file.folder.path
        config = home.config(job.user, job.id)
        # It is all that a resume has.
        parse_snapshot(text, config, self._hub.surroundings())
        make_folder(config.parent.parent, own=True)
        if home.shared:
            check_mine(config.parent.parent)
        make_folder(home.logs(job.user, job.id))
        kept = source / KEPT
        if same(config.parent, source) and not kept.exists():
            put(kept, decode(read_bytes(config, SMALL), config))
        put(config, text)
        self._bringer.logs(source / "logs", home.logs(job.user, job.id))

    async def _task_logs(self) -> None:
        """Bring the logs of tasks to where this home looks for them."""
        store = self._hub.store
        owners: dict[str, tuple[str, bool | None]] = {}
        for queue in await store.queues():
            for task in await store.tasks(queue.path):
                owners.setdefault(task.id, (queue.folder, task.spec.hide))
            for name in await store.history(queue.path):
                owners.setdefault(name, (queue.folder, None))
        for found in self._look.tree.tasks:
            folder, hidden = owners.get(found.name, ("", None))
            hidden = found.hidden if hidden is None else hidden
            target = self._hub.home.task(folder, found.name, hidden=hidden)
            await asyncio.to_thread(self._bringer.logs, found.path, target)


def _bring_queue(source: Path, target: Path) -> None:
    """Bring a tasks file and its state; in its own place, v3's state is kept beside jobman's."""
    state, ours = state_file.path_of(source), state_file.path_of(target)
    of_v3 = state.is_file() and state_file.read_head(state) is None
    if same(source, target):
        ours = state.with_name(state.name.removesuffix(".yaml") + ".v3.yaml")
    else:
        make_folder(target.parent)
        if not target.exists():
            put_copy(source, target)
    if of_v3 and not ours.exists():
        put_copy(state, ours)
