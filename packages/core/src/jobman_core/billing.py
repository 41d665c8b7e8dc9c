"""What clouds charged: their charges added up by day, service or user. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from jobman_core.errors import InvalidInputError, instead
from jobman_core.models.billing import BILL_WAYS, Bill, Charge, Charges, Portion

_NAMES: Final[Mapping[str, Callable[[Charge], str]]] = {
    "day": lambda charge: charge.day.isoformat(),
    "service": lambda charge: charge.service,
    "user": lambda charge: charge.user,
}


def check_split(since: datetime, until: datetime, by: str) -> None:
    """Refuse a bill that nobody can give, before a cloud is asked.

    Raises:
        InvalidInputError: there is no such way to split it, or the span ends before it begins.
    """
    if by not in BILL_WAYS:
        raise InvalidInputError(f"a bill by {by!r} is not known: {instead(by, BILL_WAYS)}")
    if until < since:
        raise InvalidInputError("a bill ends before it begins: let --until come after --since")


def bill_of(found: Sequence[Charges], since: datetime, until: datetime, *, by: str) -> Bill:
    """Add up what clouds charged.

    Args:
        found: what the books of each cloud say.
        since: the first moment.
        until: the first moment that is not part of it.
        by: one of :data:`BILL_WAYS`.
    """
    charges = [charge for each in found for charge in each.charges]
    portions = _portions(charges, _NAMES[by])
    if by == "day":
        portions.sort(key=lambda portion: (portion.name, portion.currency))
    else:
        portions.sort(key=lambda portion: (portion.currency, -portion.net, portion.name))
    written = [each.written for each in found if each.written is not None]
    return Bill(
        since,
        until,
        by,
        portions,
        _portions(charges, lambda _: ""),
        [each.source for each in found],
        # The books of all are complete up to there.
        min(written, default=None),
        sum(each.read for each in found),
    )


def _portions(charges: Iterable[Charge], name: Callable[[Charge], str]) -> list[Portion]:
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for charge in charges:
        found = sums[name(charge), charge.currency]
        found[0] += charge.cost
        found[1] += charge.credits
    return [Portion(*key, *sums[key]) for key in sums]
