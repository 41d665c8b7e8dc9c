"""What accounts hold at clouds, and how much they may."""

from enum import StrEnum

import attrs


class Sizes(StrEnum):
    """Which slices of a family are meant."""

    ALL = ""
    ONE_HOST = "one host"
    MANY_HOSTS = "pods"


@attrs.frozen
class Allowance:
    """How much of one thing an account may hold in one place, as its cloud says."""

    #: As the cloud calls it: a zone, or what several zones are in.
    place: str
    #: Zones in which what is held counts against it.
    zones: tuple[str, ...]
    #: A family of accelerators, counted in chips; or anything else, like ``external IPs``.
    what: str
    #: None: there is no limit.
    limit: int | None
    #: ``spot``, ``ondemand`` or ``reserved``; empty: it makes no difference.
    pricing: str = ""
    sizes: Sizes = Sizes.ALL
    #: What counts against it now; None: the cloud does not say, of chips jobman counts them.
    used: int | None = None
    #: What it is counted in.
    unit: str = "chips"

    @property
    def is_reached(self) -> bool:
        """Whether nothing more can be had: where that is, and has a use."""
        return bool(self.limit) and self.used is not None and self.used >= (self.limit or 0)


@attrs.frozen
class Allowances:
    """What a cloud says of limits, as far as it could be asked."""

    #: Of accelerators.
    chips: tuple[Allowance, ...] = ()
    #: Of anything else.
    others: tuple[Allowance, ...] = ()
    #: What could not be asked, each with the reason and the remedy.
    unknown: tuple[str, ...] = ()


@attrs.frozen
class Holding:
    """What one account holds in one zone, of one family and pricing: chips, by how they stand."""

    cloud: str
    project: str
    zone: str
    family: str
    #: ``spot`` is both of spot and preemptible: they share a limit.
    pricing: str
    ready: int = 0
    #: Asked for and not there yet.
    waiting: int = 0
    #: Held by what is dead and not deleted: it counts against the quota.
    dead: int = 0
    #: Slices (not chips) of a type that jobman does not know, so that nobody can count theirs.
    uncounted: int = 0
    #: Where slices of one host and larger ones have limits of their own.
    sizes: Sizes = Sizes.ALL
    #: Chips that may be held; None: there is no limit, or nobody could say.
    limit: int | None = None
    #: Where that limit holds: the zone, or what it is in; empty: nobody could say.
    limited_in: str = ""
    #: Chips that count against the limit, in all of that place.
    used: int | None = None
    #: Why nothing is known of this zone, or (empty zone) of the zones that the account has: family
    #: and pricing are empty then, and no number counts.
    trouble: str = ""

    @property
    def held(self) -> int:
        """Chips that count against a limit, in this zone."""
        return self.ready + self.waiting + self.dead

    @property
    def is_full(self) -> bool:
        """Whether its limit is reached; one of 0 has never been more."""
        return bool(self.limit) and self.used is not None and self.used >= (self.limit or 0)


@attrs.frozen
class Quota:
    """What the accounts of a home hold and may hold."""

    #: By zone, family and pricing: all that is held, and all that may be.
    holdings: tuple[Holding, ...] = ()
    #: Of anything but chips, by account.
    others: tuple[tuple[str, str, Allowance], ...] = ()
    #: What could not be asked besides zones, each with the reason and the remedy.
    unknown: tuple[str, ...] = ()
