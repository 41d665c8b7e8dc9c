"""The zones that a home has to do with: where reapers and reports look."""

import asyncio
from collections.abc import Callable, Iterable, Sequence

import attrs

from jobman_core.config.places import DEFAULT_CLOUD
from jobman_core.errors import JobmanError
from jobman_core.hub import Hub
from jobman_core.interfaces.cloud import Cloud
from jobman_core.keep.keeper import kept_zones
from jobman_core.models.slice import SliceRequest
from jobman_core.models.zone import Zone


async def zones_of(hub: Hub) -> Sequence[Zone]:
    """Give the zones that the lab names, and where this home has had slices or keeps some alive."""
    named = [Zone(cloud, zone, project) for cloud, project, zone in hub.settings.reap.places]
    zones = [*named, *await hub.store.zones(), *await kept_zones(hub.store)]
    return await with_accounts(zones, hub.backends.cloud, hub.settings.project)


async def accounts_of(hub: Hub, zones: Iterable[Zone]) -> Sequence[tuple[str, str]]:
    """Give the clouds and projects whose own zones are asked for: those of a home's zones.

    The one that its jobs use unless they say otherwise is asked where the settings name it, or
    where the home knows no zone yet.

    Args:
        hub: the home.
        zones: that it knows, each with its account.
    """
    found = {(zone.cloud, zone.project) for zone in zones}
    usual = hub.settings.cloud or ("" if found else DEFAULT_CLOUD)
    if usual and usual not in {cloud for cloud, _ in found}:
        usual_zone = Zone(usual, "")
        (named,) = await with_accounts([usual_zone], hub.backends.cloud, hub.settings.project)
        found.add((usual, named.project))
    return sorted(found)


async def with_accounts(
    zones: Iterable[Zone], cloud: Callable[[str], Cloud], project: str | None
) -> Sequence[Zone]:
    """Give each zone once, in order, with its account, so that none is looked at under two names.

    Args:
        zones: some may name no account.
        cloud: gives a cloud by its name.
        project: the account of those that name none; None: their cloud's own.
    """

    async def named(zone: Zone) -> Zone:
        if zone.project:
            return zone
        options = {"project": project} if project else {}
        request = SliceRequest(zone.cloud, "", zone.name, options=options)
        try:
            return attrs.evolve(zone, project=await cloud(zone.cloud).project_of(request))
        except JobmanError:
            # Whoever looks at it is told what is wrong.
            return zone

    return sorted(set(await asyncio.gather(*map(named, zones))), key=attrs.astuple)
