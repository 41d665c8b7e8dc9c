"""What ``jobman doctor`` asks Google: of credentials, of each project, of what job files name."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import datetime
from typing import Final

import attrs

from jobman_core.errors import PermanentCloudError
from jobman_core.interfaces.backend import Scope
from jobman_core.models.checkup import Checkup, Health
from jobman_core.models.slice import SliceRequest
from jobman_gcp import limits, rest
from jobman_gcp.account import Account
from jobman_gcp.client import Client, call
from jobman_gcp.connection import Connection
from jobman_gcp.credentials import found_here, tried
from jobman_gcp.errors import COMPUTE, TPU, Api, ApiError, Code, trouble
from jobman_gcp.health import (
    APIS,
    RIGHTS,
    Place,
    Right,
    judge_apis,
    judge_clock,
    judge_hosts,
    judge_os_login,
    judge_place,
    judge_quota,
    judge_rights,
)
from jobman_gcp.requests import project_of

#: Of this cloud, in files.
_NAME: Final = "gcp"
_SERVICES: Final = Api("serviceusage.googleapis.com", "roles/serviceusage.serviceUsageConsumer")
_PROJECTS: Final = Api("cloudresourcemanager.googleapis.com", "roles/browser")


async def examine(
    connection: Connection, scope: Scope, now: Callable[[], datetime]
) -> Sequence[Checkup]:
    """Look at all that jobman needs of Google.

    Args:
        connection: asks.
        scope: for what it is to be used.
        now: gives the time by this machine's clock.
    """
    if scope.offline:
        return [found_here()]
    try:
        account = await connection.account()
    except PermanentCloudError as error:
        return [Checkup.of_error("credentials", error)]
    of_account = await tried(account)
    if of_account.health is Health.BROKEN:
        return [of_account]
    client = await connection.client()
    try:
        projects = await _projects(connection, scope)
    except PermanentCloudError as error:
        return [of_account, Checkup.of_error("project", error)]
    looks = [_Project(account, client, each, scope).look() for each in projects]
    clock, *found = await asyncio.gather(_clock(account, now), *looks)
    if len(projects) > 1:
        found = [[_of(name, x) for x in each] for name, each in zip(projects, found, strict=True)]
    return [of_account, *clock, *(checkup for each in found for checkup in each)]


def _of(project: str, checkup: Checkup) -> Checkup:
    """Say of which of several projects it is."""
    return attrs.evolve(checkup, text=f"{project}: {checkup.text}")


async def _projects(connection: Connection, scope: Scope) -> Sequence[str]:
    """Give the projects that pay for anything here."""
    named = {scope.project, *(zone.project for zone in scope.zones if zone.cloud == _NAME)}
    named |= {project_of(request) for request in _requests(scope)}
    return sorted(filter(None, named)) or [await connection.project()]


def _requests(scope: Scope) -> Iterator[SliceRequest]:
    """Give what job files ask of this cloud."""
    asked = (place for spec in scope.specs for place in spec.candidates)
    return (place for place in asked if place.cloud == _NAME)


async def _clock(account: Account, now: Callable[[], datetime]) -> Sequence[Checkup]:
    try:
        theirs = await rest.now(account)
        return [judge_clock((now() - theirs).total_seconds())]
    except ApiError as error:
        return [Checkup.unknown("clock", str(error))]


@attrs.frozen
class _Project:
    """One project, and what is asked of it."""

    account: Account
    client: Client
    name: str
    scope: Scope

    async def look(self) -> Sequence[Checkup]:
        """Ask everything at once; what one API refuses keeps the others from nothing."""
        found = await asyncio.gather(
            _told("project", TPU, self._zones(), Health.BROKEN),
            _told("APIs", _SERVICES, self._apis()),
            _told("rights", _PROJECTS, self._rights()),
            _told("OS Login", COMPUTE, self._os_login()),
        )
        return [checkup for each in found for checkup in each]

    async def _zones(self) -> Sequence[Checkup]:
        zones = await self.client.zones(self.name)
        told = f"{self.name}: TPUs are to be had in {len(zones)} zones"
        found = await limits.allowances(self.account, self.name, zones)
        places = [await self._place(place, zones) for place in self._places()]
        return [
            Checkup.well("project", told),
            *(Checkup.of_text("quota", each, Health.UNKNOWN) for each in found.unknown),
            *([] if found.unknown else [judge_quota([x.limit for x in found.chips], self.name)]),
            *judge_hosts(found.others, self.name),
            *places,
        ]

    async def _apis(self) -> Sequence[Checkup]:
        from google.cloud.service_usage_v1 import ServiceUsageAsyncClient
        from google.cloud.service_usage_v1.services.service_usage.transports import (
            ServiceUsageGrpcAsyncIOTransport as Transport,
        )

        parent = f"projects/{self.name}"
        names = [f"{parent}/services/{api}" for api in APIS]
        async with self.account.charged_to(self.name).channel(_SERVICES.host) as channel:
            client = ServiceUsageAsyncClient(transport=Transport(channel=channel))
            request = {"parent": parent, "names": names}
            answer = await call(client.batch_get_services, request)
        enabled = [each.config.name for each in answer.services if each.state.name == "ENABLED"]
        return [*judge_apis(enabled, self.name)]

    async def _rights(self) -> Sequence[Checkup]:
        from google.cloud.resourcemanager_v3 import ProjectsAsyncClient
        from google.cloud.resourcemanager_v3.services.projects.transports import (
            ProjectsGrpcAsyncIOTransport as Transport,
        )

        async with self.account.charged_to(self.name).channel(_PROJECTS.host) as channel:
            client = ProjectsAsyncClient(transport=Transport(channel=channel))

            async def ask(right: Right) -> tuple[str, set[str] | None]:
                resource, permissions = f"projects/{self.name}", list(right.permissions)
                request = {"resource": resource, "permissions": permissions}
                try:
                    answer = await call(client.test_iam_permissions, request)
                except ApiError as error:
                    # It knows none of that name: of others it tells all the same.
                    if error.code != Code.INVALID_ARGUMENT:
                        raise
                    return right.purpose, None
                return right.purpose, set(answer.permissions)

            granted = await asyncio.gather(*map(ask, RIGHTS))
        return [*judge_rights({name: has for name, has in granted if has is not None}, self.name)]

    async def _os_login(self) -> Sequence[Checkup]:
        project = await rest.get(self.account, f"projects/{self.name}", {})
        items = project.get("commonInstanceMetadata", {}).get("items", ())
        return [judge_os_login({each["key"]: each.get("value", "") for each in items})]

    def _places(self) -> Iterator[Place]:
        asked = (each for each in _requests(self.scope) if project_of(each) in ("", self.name))
        yield from dict.fromkeys(Place(x.zone, x.accelerator, x.runtime) for x in asked)

    async def _place(self, place: Place, zones: Sequence[str]) -> Checkup:
        if place.zone not in zones:
            return judge_place(place, zone=False, accelerator=False, runtime=False)
        accelerator, runtime = await self.client.offers(
            self.name, place.zone, place.accelerator, place.runtime
        )
        return judge_place(place, zone=True, accelerator=accelerator, runtime=runtime)


async def _told(
    name: str,
    api: Api,
    asked: Awaitable[Sequence[Checkup]],
    refused: Health = Health.UNKNOWN,
) -> Sequence[Checkup]:
    """Let what an API refuses be a check-up as well.

    Args:
        name: what is looked at.
        api: that is asked.
        asked: gives what it comes to.
        refused: how that stands where nobody may ask.
    """
    try:
        return await asked
    except ApiError as error:
        if error.code not in (Code.PERMISSION_DENIED, Code.UNAUTHENTICATED):
            return [Checkup.unknown(name, f"{api.host} could not be asked: {error}")]
        why = trouble(error.failure, f"{api.host} refuses", api)
        health = refused if isinstance(why, PermanentCloudError) else Health.UNKNOWN
        return [Checkup.of_error(name, why, health)]
