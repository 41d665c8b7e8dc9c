"""Controllers and leases: the fence in front of every change that a controller makes."""

import attrs

from jobman_core.builtin.sqlite import statements as sql
from jobman_core.builtin.sqlite.database import Tx
from jobman_core.builtin.sqlite.rows import holder_of, job_id, job_number
from jobman_core.errors import HeldError, NotFoundError, StaleLeaseError
from jobman_core.interfaces.store import News, Wish
from jobman_core.models.job import Desired
from jobman_core.models.lease import Controller, Lease


def check(tx: Tx, lease: Lease) -> int:
    """Refuse a lease that is not its job's newest; gives the job's number."""
    number = job_number(lease.job)
    row = tx.one(sql.LEASE, number)
    if row is None or (row["controller"], row["epoch"]) != (lease.controller, lease.epoch):
        raise StaleLeaseError(
            f"controller {lease.controller} was replaced on job {lease.job}: it must stop, "
            f"`jobman show {lease.job}` names the one that acts now"
        )
    return number


def news(tx: Tx, controller: str) -> News:
    """Give what is wanted of a controller's jobs, with as many statements for one as for all."""
    ends: dict[int, dict[str, str]] = {}
    for row in tx.all(sql.WISHED_ENDS, controller):
        ends.setdefault(row["job"], {})[row["token"]] = row["end_cause"]
    wishes = {
        job_id(row["job"]): Wish(row["epoch"], Desired(row["desired"]), ends.get(row["job"], {}))
        for row in tx.all(sql.WISHES, controller)
    }
    return News(wishes, {row["path"]: row["changes"] for row in tx.all(sql.CHANGES)})


def register(tx: Tx, controller: Controller) -> None:
    """Write down a controller."""
    tx.run(sql.PUT_CONTROLLER, **attrs.asdict(controller))


def beat(tx: Tx, controller: str, now: float) -> None:
    """Say that a controller lives."""
    if not tx.run(sql.BEAT, now, controller):
        raise StaleLeaseError(f"controller {controller} was retired by another: it must stop")


def retire(tx: Tx, controller: str) -> None:
    """Forget a controller, and with it the leases that it has, and looks that it began."""
    tx.run(sql.DROP_CLAIMS, controller)
    tx.run(sql.RETIRE, controller)


def take(tx: Tx, job: str, controller: str, instead_of: Lease | None) -> Lease:
    """Take a job's lease, unless somebody has it who was not seen and judged lost."""
    number = job_number(job)
    if tx.one(sql.JOB, number) is None:
        raise NotFoundError(f"no job {job!r}: `jobman list --all` shows all")
    if tx.one(sql.CONTROLLER, controller) is None:
        raise StaleLeaseError(f"controller {controller} was retired by another: it must stop")
    row = tx.one(sql.HOLDER, number)
    if row is not None:
        held, holder = holder_of(row)
        if held != instead_of and holder.id != controller:
            raise HeldError(
                f"job {job} is held by another controller (pid {holder.pid}): it runs already, "
                f"`jobman stop {job}` ends that"
            )
    tx.run(sql.NEXT_EPOCH, number)
    found = tx.one(sql.JOB, number)
    epoch: int = found["epoch"] if found else 0
    tx.run(sql.PUT_LEASE, number, controller, epoch)
    return Lease(job_id(number), controller, epoch)


def drop(tx: Tx, lease: Lease) -> None:
    """Give a lease back."""
    tx.run(sql.DROP_LEASE, job_number(lease.job), lease.controller, lease.epoch)
