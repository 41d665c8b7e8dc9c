"""What is known of one attempt of a task, in a file beside its output."""

import json

from jobman_core.clock import to_text
from jobman_core.group import opener
from jobman_core.home import make_inside
from jobman_core.models.address import mask
from jobman_core.models.attempt import Attempt
from jobman_core.models.outcome import Outcome
from jobman_core.models.slice import Slice
from jobman_core.packing import snapshot_of
from jobman_core.run.context import JobContext
from jobman_core.run.work import Work


class MetaFile:
    """Writes ``run_<NNN>_job<id>_meta.yaml``; a disk that does not take it ends nobody's work."""

    def __init__(self, ctx: JobContext, slice_: Slice) -> None:
        """Keep what it writes with."""
        self._ctx = ctx
        self._slice = slice_
        #: What was last to be written is not there.
        self.owed = False

    async def write(self, work: Work, attempt: Attempt, outcome: Outcome | None) -> None:
        """Write it anew, where such a file is kept.

        Args:
            work: what the attempt runs.
            attempt: as it stands now.
            outcome: how it ended; None: it runs.
        """
        if (meta := work.meta) is None:
            return
        home = self._ctx.home

        def write() -> None:
            snapshot = snapshot_of(home, attempt.run_id, work.code) if work.code else None
            text = meta_text(work, attempt, self._slice, outcome, snapshot)
            part = meta.with_suffix(".part")
            make_inside(meta.parent)
            with open(part, "w", encoding="utf-8", opener=opener) as file:
                file.write(text)
            part.replace(meta)

        try:
            await self._ctx.scribe.do(write)
            self.owed = False
        except OSError as error:
            self.owed = True
            self._ctx.journal.retrying(f"{meta} cannot be written: {error.strerror or error}")


def meta_text(
    work: Work, attempt: Attempt, slice_: Slice, outcome: Outcome | None, snapshot: str | None
) -> str:
    """Give what ``run_<NNN>_job<id>_meta.yaml`` holds."""
    rows: dict[str, object] = {
        "task_id": work.label,
        "run": attempt.number,
        "run_id": attempt.run_id,
        "job_id": attempt.job,
        "repo": mask(work.repo.url, work.repo.url) if work.repo else None,
        "branch": work.repo.branch if work.repo else None,
        "commit": attempt.commit,
        "code": work.code.path if work.code else None,
        "snapshot": snapshot,
        "accelerator": slice_.request.accelerator,
        "zone": slice_.request.zone,
        "slice": slice_.identity.name,
        "workers": list(attempt.hosts),
        "started": to_text(attempt.started_at) if attempt.started_at else None,
        "ended": to_text(attempt.ended_at) if attempt.ended_at else None,
        "outcome": outcome.kind.value if outcome else None,
        "cause": outcome.cause if outcome else None,
        "exit_code": outcome.exit_code if outcome else None,
        "detail": outcome.detail if outcome else None,
    }
    # JSON's scalars and lists are YAML's too, whatever stands in them.
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in rows.items())
