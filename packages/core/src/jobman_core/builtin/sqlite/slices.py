"""The books on slices."""

from collections.abc import Sequence

from jobman_core.builtin.sqlite import leases, zones
from jobman_core.builtin.sqlite import statements as sql
from jobman_core.builtin.sqlite.database import Tx
from jobman_core.builtin.sqlite.events import tell
from jobman_core.builtin.sqlite.jobs import find
from jobman_core.builtin.sqlite.rows import job_number, slice_of, slice_values
from jobman_core.errors import HeldError, InvalidInputError, NotFoundError
from jobman_core.interfaces.store import Note
from jobman_core.models.lease import Lease
from jobman_core.models.slice import Slice
from jobman_core.models.zone import Zone


def open_(tx: Tx, lease: Lease, slice_: Slice, note: Note, at: str) -> None:
    """Put a new generation on the books."""
    number = _check(tx, lease, slice_)
    held = tx.one(sql.UNWITHDRAWN, number)
    if held is not None:
        raise HeldError(
            f"job {lease.job} has generation {held['generation']} of its slice: withdraw that "
            f"before asking for generation {slice_.generation}"
        )
    newest = find(tx, lease.job)["generation"]
    if slice_.generation <= newest:
        raise HeldError(
            f"job {lease.job} has had generation {newest} of its slice: the next is {newest + 1}"
        )
    before = tx.one(sql.SLICE, number, newest)
    recovered = before is not None and before["lost_at"] is not None
    tx.insert(sql.INSERT_SLICE, **slice_values(slice_))
    zones.know(tx, Zone.of(slice_.request.cloud, slice_.identity))
    tx.run(sql.NEW_GENERATION, slice_.generation, int(recovered), number)
    tell(tx, at, note, job=number)


def save(tx: Tx, lease: Lease, slice_: Slice, note: Note | None, at: str) -> None:
    """Write down what is known of a generation."""
    number = _check(tx, lease, slice_)
    if not tx.run(sql.UPDATE_SLICE, **slice_values(slice_)):
        raise NotFoundError(
            f"job {lease.job} has no generation {slice_.generation} of its slice: open it first"
        )
    if note is not None:
        tell(tx, at, note, job=number)


def of_job(tx: Tx, job: str) -> Sequence[Slice]:
    """Give all generations."""
    return [slice_of(row) for row in tx.all(sql.SLICES, job_number(job))]


def _check(tx: Tx, lease: Lease, slice_: Slice) -> int:
    number = leases.check(tx, lease)
    if job_number(slice_.job) != number:
        raise InvalidInputError(
            f"slice {slice_.identity.name} is of job {slice_.job}: use the lease of that job"
        )
    return number
