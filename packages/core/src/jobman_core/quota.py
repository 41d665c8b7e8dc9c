"""What the accounts of a home hold, counted from what their clouds list, and how much they may."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

import attrs

from jobman_core.clock import Clock
from jobman_core.errors import JobmanError
from jobman_core.interfaces.cloud import Cloud, Listed
from jobman_core.models.accelerator import Accelerator
from jobman_core.models.quota import Allowance, Allowances, Holding, Quota, Sizes
from jobman_core.models.slice import SlicePhase
from jobman_core.models.zone import Zone
from jobman_core.run.patience import in_time

#: Seconds that a cloud has for an answer.
_LIMIT: Final = 30.0
#: Lists that are asked for at once.
_AT_ONCE: Final = 16
#: They share a limit.
_ALIKE: Final = {"preemptible": "spot"}

#: Family, pricing and sizes.
_Kind = tuple[str, str, Sizes]
_Look = Sequence[Listed] | JobmanError
_T = TypeVar("_T")


def count(
    zone: Zone, listed: Iterable[Listed], divided: Collection[str] = ()
) -> Mapping[_Kind, Holding]:
    """Add up the chips of a zone, by kind; those of anybody's slices.

    Args:
        zone: which.
        listed: what its cloud lists there.
        divided: families whose slices of one host and larger ones are counted apart.
    """
    found: dict[_Kind, Holding] = {}
    for each in listed:
        family, chips, sizes = _type(each.accelerator)
        pricing = _ALIKE.get(each.pricing, each.pricing)
        kind = (family, pricing, sizes if family in divided else Sizes.ALL)
        holding = found.get(kind) or _none_held(zone, kind)
        found[kind] = _with(holding, each.observation.phase, chips)
    return found


def holdings(looks: Mapping[Zone, _Look], allowed: Sequence[Allowance]) -> Sequence[Holding]:
    """Put together what is held in the zones of one account and how much may be.

    A zone that could not be looked at has one entry, which says why.

    Args:
        looks: by zone, what its cloud lists there.
        allowed: how many chips may be held, of each family and pricing.
    """
    divided = {each.what for each in allowed if each.sizes}
    limits: dict[str, dict[_Kind, list[Allowance]]] = defaultdict(lambda: defaultdict(list))
    for each in allowed:
        for name in each.zones:
            limits[name][each.what, each.pricing, each.sizes].append(each)
    unseen, found = [], dict[tuple[str, _Kind], Holding]()
    for zone, look in looks.items():
        if isinstance(look, JobmanError):
            unseen.append(Holding(zone.cloud, zone.project, zone.name, "", "", trouble=str(look)))
            continue
        may = {kind: _none_held(zone, kind) for kind in limits[zone.name]}
        for kind, holding in {**may, **count(zone, look, divided)}.items():
            found[zone.name, kind] = holding

    def held(place: Allowance, kind: _Kind) -> int:
        there = (found.get((name, kind)) for name in place.zones)
        return sum(each.held for each in there if each is not None)

    shown = [
        _limited(found[name, kind], [(each, held(each, kind)) for each in limits[name][kind]])
        for name, kind in sorted(found)
    ]
    return [*shown, *unseen]


def _type(accelerator: str) -> tuple[str, int | None, Sizes]:
    """Give the family of a type, its chips (None: nobody knows how many) and its size."""
    try:
        known = Accelerator.parse(accelerator)
    except ValueError:
        return accelerator, None, Sizes.ALL
    return known.family, known.chips, Sizes.ONE_HOST if known.hosts == 1 else Sizes.MANY_HOSTS


def _none_held(zone: Zone, kind: _Kind) -> Holding:
    family, pricing, sizes = kind
    return Holding(zone.cloud, zone.project, zone.name, family, pricing, sizes=sizes)


def _with(holding: Holding, phase: SlicePhase, chips: int | None) -> Holding:
    if chips is None:
        return attrs.evolve(holding, uncounted=holding.uncounted + 1)
    match phase:
        case SlicePhase.READY:
            return attrs.evolve(holding, ready=holding.ready + chips)
        case SlicePhase.PENDING:
            return attrs.evolve(holding, waiting=holding.waiting + chips)
        case _:
            return attrs.evolve(holding, dead=holding.dead + chips)


def _limited(holding: Holding, limits: Iterable[tuple[Allowance, int]]) -> Holding:
    """Say by which of some limits, each with what counts against it, a holding is bound."""
    told = [(each, used) for each, used in limits if each.limit is not None]
    if not told:
        place = next((each.place for each, _ in limits), "")
        return attrs.evolve(holding, limited_in=place)
    tightest, used = min(told, key=lambda limit: (limit[0].limit or 0) - limit[1])
    return attrs.evolve(holding, limit=tightest.limit, limited_in=tightest.place, used=used)


@attrs.frozen
class _Told:
    """What a cloud says of an account."""

    zones: Sequence[Zone] = ()
    allowed: Allowances = attrs.field(factory=Allowances)
    #: Why it does not say which zones there are; empty: it does.
    trouble: str = ""


@attrs.frozen
class Accounts:
    """Asks clouds what is held in their zones, and how much may be."""

    cloud: Callable[[str], Cloud]
    clock: Clock

    async def quota(self, known: Sequence[Zone], accounts: Sequence[tuple[str, str]]) -> Quota:
        """Give what is held and how much may be; of what cannot be asked, why not.

        Args:
            known: the zones that a home knows, each with its account.
            accounts: clouds and projects, whose own zones are asked as well.
        """
        asked = await asyncio.gather(*(self._account(*each, known) for each in accounts))
        told = dict(zip(accounts, asked, strict=True))
        zones = {*known, *(zone for each in asked for zone in each.zones)}
        looks = await self._looks(sorted(zones, key=attrs.astuple))
        by_account: dict[tuple[str, str], dict[Zone, _Look]] = defaultdict(dict)
        for zone, look in looks.items():
            by_account[zone.cloud, zone.project][zone] = look
        found: list[Holding] = []
        for account, here in by_account.items():
            found += holdings(here, told.get(account, _Told()).allowed.chips)
        seen = {(each.cloud, each.project) for each in found if each.trouble}
        found += [
            Holding(*account, "", "", "", trouble=each.trouble)
            for account, each in told.items()
            # Its zones have told it already, where the home knows some.
            if each.trouble and account not in seen
        ]
        others = [(*account, each) for account in told for each in told[account].allowed.others]
        unknown = dict.fromkeys(why for each in asked for why in each.allowed.unknown)
        return Quota(tuple(found), tuple(others), tuple(unknown))

    async def _account(self, cloud: str, project: str, known: Sequence[Zone]) -> _Told:
        """Ask for the zones of an account, and how much it may hold in them."""
        own = {zone for zone in known if (zone.cloud, zone.project) == (cloud, project)}
        try:
            named = await self._ask(cloud, lambda asked: asked.zones(project))
        except JobmanError as error:
            return _Told(trouble=str(error))
        zones = sorted({*own, *(Zone(cloud, name, project) for name in named)}, key=attrs.astuple)
        names = [zone.name for zone in zones]
        try:
            allowed = await self._ask(cloud, lambda asked: asked.allowances(names, project))
        except JobmanError as error:
            allowed = Allowances(unknown=(str(error),))
        return _Told(zones, allowed)

    async def _looks(self, zones: Iterable[Zone]) -> Mapping[Zone, _Look]:
        limit = asyncio.Semaphore(_AT_ONCE)

        async def look(zone: Zone) -> tuple[Zone, _Look]:
            async with limit:
                try:
                    return zone, await self._ask(
                        zone.cloud, lambda cloud: cloud.list_slices(zone.name, zone.project)
                    )
                except JobmanError as error:
                    return zone, error

        return dict(await asyncio.gather(*map(look, zones)))

    async def _ask(self, name: str, ask: Callable[[Cloud], Coroutine[Any, Any, _T]]) -> _T:
        asked = ask(self.cloud(name))
        return await in_time(asked, self.clock, _LIMIT, f"cloud {name!r}")
