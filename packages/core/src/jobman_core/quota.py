"""What the accounts of a home hold: counted from what their clouds list."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import attrs

from jobman_core.clock import Clock
from jobman_core.errors import JobmanError
from jobman_core.interfaces.cloud import Cloud, Listed
from jobman_core.models.accelerator import Accelerator
from jobman_core.models.reap import Holding
from jobman_core.models.slice import SlicePhase
from jobman_core.models.zone import Zone
from jobman_core.run.patience import in_time

#: Seconds that a cloud has for an answer.
_LIMIT: Final = 60.0
#: Lists that are asked for at once.
_AT_ONCE: Final = 8


def count(zone: Zone, listed: Iterable[Listed]) -> Sequence[Holding]:
    """Add up the chips of a zone, by family and pricing; those of anybody's slices."""
    found: dict[tuple[str, str], Holding] = {}
    for each in listed:
        family, chips = _family(each.accelerator)
        key = (family, each.pricing)
        holding = found.get(key) or Holding(zone.cloud, zone.project, zone.name, *key)
        found[key] = _with(holding, each.observation.phase, chips)
    return [found[key] for key in sorted(found)]


def _family(accelerator: str) -> tuple[str, int | None]:
    """Give the family of a type, and its chips; None: nobody knows how many those are."""
    try:
        known = Accelerator.parse(accelerator)
    except ValueError:
        return accelerator, None
    return known.family, known.chips


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


@attrs.frozen
class Accounts:
    """Asks clouds what is held in some zones."""

    cloud: Callable[[str], Cloud]
    clock: Clock

    async def holdings(self, zones: Iterable[Zone]) -> Sequence[Holding]:
        """Give what is held in each zone; of one that cannot be asked, why not."""
        limit = asyncio.Semaphore(_AT_ONCE)

        async def ask(zone: Zone) -> Sequence[Holding]:
            async with limit:
                return await self._ask(zone)

        found = await asyncio.gather(*map(ask, zones))
        return [holding for each in found for holding in each]

    async def _ask(self, zone: Zone) -> Sequence[Holding]:
        try:
            asked = self.cloud(zone.cloud).list_slices(zone.name, zone.project)
            return count(zone, await in_time(asked, self.clock, _LIMIT, f"cloud {zone.cloud!r}"))
        except JobmanError as error:
            return [Holding(zone.cloud, zone.project, zone.name, "", "", trouble=str(error))]
