"""What a checkout of v3 holds that is new, and what hinders it."""

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

from jobman_core.config.surroundings import Surroundings
from jobman_core.config.tasks import read_tasks
from jobman_core.errors import InvalidInputError, JobmanError, lines_of
from jobman_core.files import digest
from jobman_core.models.v3 import TakenJob, TakenOver
from jobman_core.queue import state_file, v3_state
from jobman_core.v3.bring import Bringer
from jobman_core.v3.job import OldFile, read_old
from jobman_core.v3.tree import OldFolder, OldTree

_STATE: Final = "_state.yaml"


def same(one: Path, other: Path) -> bool:
    """Tell whether two paths are one place."""
    return one.resolve() == other.resolve()


def is_taken(path: Path) -> bool:
    """Tell whether anything is there, be it a link that leads nowhere."""
    return os.path.lexists(path)


class Look:
    """A checkout, seen from a home."""

    def __init__(
        self,
        tree: OldTree,
        around: Surroundings,
        *,
        live: Collection[str],
        known: Mapping[str, Any],
        ids: Collection[str],
        user: str,
    ) -> None:
        """Keep what was found.

        Args:
            tree: the checkout.
            around: what job files are read against.
            live: names of sessions.
            known: what earlier calls have taken over.
            ids: of the jobs of the home.
            user: who acts: in a home that a group shares, only for themselves.
        """
        self.tree = tree
        self.around = around
        self.known = known
        self._live = live
        self._ids = ids
        self._only = user if around.home.shared else None
        self._already = 0
        #: Tasks files on which v3's jobs work, with one of these.
        self._busy: dict[Path, str] = {}

    def files(self) -> list[OldFile]:
        """Read the jobs that are new; those first that can keep their ids."""
        found = [file for job in self.tree.jobs if (file := self._read(job)) is not None]
        return sorted(found, key=lambda file: (file.folder.id in self._ids, file.folder.id))

    def _read(self, job: OldFolder) -> OldFile | None:
        own = job.id in self._ids and same(job.path, self.around.home.job(job.user, job.id))
        if own or self.known.get(f"job:{job.path}") in self._ids:
            self._already += 1
            return None
        if self._only not in (None, job.user):
            why = f"this home is shared: {job.user} takes it over, by the same command"
            self.tree.notes.append(f"{job.path}: {why}")
            return None
        try:
            found = read_old(job, self.tree, self.around)
        except (JobmanError, OSError) as error:
            self.blame(job.path, error)
            return None
        if job.session not in self._live:
            return found
        if found.queue is not None:
            self._busy[found.queue] = job.id
        how = (
            f"end it with v3's own `jobman stop {job.id}`, or `tmux kill-session -t {job.session}`"
        )
        self.tree.problems.append(f"{job.path}: it still runs in tmux: {how}")
        return None

    def queues(self, files: list[OldFile]) -> list[Path]:
        """Give the tasks files, those that jobs name first."""
        named = [file.queue for file in files if file.queue is not None]
        states = [
            path.with_name(f"{path.name.removesuffix(_STATE)}.yaml") for path in self.tree.states
        ]
        found = list(dict.fromkeys([*named, *states]))
        new = [path for path in found if f"queue:{path}" not in self.known]
        self._already += len(found) - len(new)
        return new

    def here(self, queue: Path) -> Path:
        """Give where this home has a tasks file of v3's checkout."""
        root = self.tree.root
        return (
            self.around.home.root / queue.relative_to(root) if queue.is_relative_to(root) else queue
        )

    def may_take(self, queue: Path) -> bool:
        """Tell whether a queue can be taken over; if not, why is noted."""
        try:
            self._check(queue)
        except (JobmanError, OSError) as error:
            self.blame(queue, error)
            return False
        return True

    def _check(self, queue: Path) -> None:
        if busy := self._busy.get(queue):
            msg = f"v3's job {busy} works on it: end that job first"
            raise InvalidInputError(msg)
        definition = read_tasks(queue, self.around.home.root)
        target = self.here(queue)
        if not same(queue, target) and target.exists() and digest(target) != digest(queue):
            msg = f"{target} is there already, and says something else: move it away"
            raise InvalidInputError(msg)
        state = state_file.path_of(queue)
        if state_file.read_head(state) is not None:
            return
        old = v3_state.read(state, {task.id: task.max_retries for task in definition.tasks})
        for task, runs in (old.history if old else {}).items():
            for run in runs:
                if run.ended is None and f"job_{run.job}" in self._live:
                    msg = f"task {task} runs on v3's job {run.job}: end that job first"
                    raise InvalidInputError(msg)

    def blame(self, what: Path, error: Exception) -> None:
        """Note why something could not be taken over."""
        lines = [error.strerror or str(error)] if isinstance(error, OSError) else lines_of(error)
        self.tree.problems.extend(f"{what}: {line.removeprefix('error: ')}" for line in lines)

    def result(self, jobs: list[TakenJob], queues: list[Path], bringer: Bringer) -> TakenOver:
        """Give what it came to."""
        return TakenOver(
            jobs=tuple(sorted(jobs, key=lambda job: job.old_id)),
            queues=tuple(queues),
            files=bringer.files,
            size=bringer.size,
            known=self._already,
            notes=tuple(self.tree.notes),
            problems=tuple(self.tree.problems),
        )
