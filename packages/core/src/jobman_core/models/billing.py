"""What a cloud charges: by its own books, after the fact."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Final

import attrs

#: The ways to split a bill.
BILL_WAYS: Final = ("day", "service", "user")


@attrs.frozen
class Charge:
    """What one day of one service came to, for one user."""

    day: date
    #: As the cloud calls it, like ``Compute Engine``.
    service: str
    #: Whose slices it was for; empty: it was for none that jobman made.
    user: str
    #: Like ``USD``.
    currency: str
    #: Before credits.
    cost: float
    #: Discounts, free tiers, grants: zero or less.
    credits: float = 0.0


@attrs.frozen
class Charges:
    """What a cloud's books say of a span of time."""

    charges: Sequence[Charge]
    #: Where they stand.
    source: str
    #: When the cloud wrote into its books last, of that span; None: nothing is in there.
    written: datetime | None = None
    #: Bytes that were read to find out, which the cloud may charge for.
    read: int = 0


@attrs.frozen
class Lacking:
    """Why a cloud's books cannot be read yet, and what to do about it."""

    what: str
    #: In their order.
    steps: Sequence[str] = ()


@attrs.frozen
class Portion:
    """A part of a bill, in one currency."""

    #: The day, service or user; empty: of all, or of nobody.
    name: str
    currency: str
    cost: float
    credits: float

    @property
    def net(self) -> float:
        """What is paid."""
        return self.cost + self.credits


@attrs.frozen
class Bill:
    """What was charged in a span of time, split one way."""

    since: datetime
    until: datetime
    #: One of :data:`BILL_WAYS`.
    by: str
    #: Days in their order, else the dearest first; one for each currency of a name.
    portions: Sequence[Portion] = ()
    #: One for each currency: they are not added up.
    totals: Sequence[Portion] = ()
    #: Where it stands, and when that was written last.
    sources: Sequence[str] = ()
    written: datetime | None = None
    #: Bytes that were read to find out.
    read: int = 0
