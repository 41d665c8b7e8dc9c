"""What is taken over from Jobman v3."""

from pathlib import Path

import attrs


@attrs.frozen
class OldSlice:
    """A TPU that a job of v3 had: it may still be there, and cost."""

    name: str
    zone: str
    #: The command that deletes it; jobman touches nothing that it did not make.
    remedy: str


@attrs.frozen
class TakenJob:
    """A job of v3 that is one of this home now."""

    #: As v3 has it.
    old_id: str
    #: Here; the same where it was free.
    id: str
    user: str
    name: str
    slice: OldSlice


@attrs.frozen
class TakenOver:
    """What a look at a folder of v3 came to."""

    jobs: tuple[TakenJob, ...]
    #: Tasks files of this home, with their history.
    queues: tuple[Path, ...]
    #: Logs that were copied, and their bytes.
    files: int
    size: int
    #: Jobs and queues that an earlier call has taken over.
    known: int
    #: What was passed over or is done in another way, a line each.
    notes: tuple[str, ...]
    #: What could not be taken over, a line each.
    problems: tuple[str, ...]
