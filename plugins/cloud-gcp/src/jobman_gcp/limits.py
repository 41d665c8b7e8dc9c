"""Asks Google how much a project may hold: the Cloud Quotas API, and Compute Engine's regions."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from jobman_core.models.quota import Allowances
from jobman_gcp import rest
from jobman_gcp.account import Account
from jobman_gcp.client import call
from jobman_gcp.errors import COMPUTE, QUOTAS, Api, ApiError, Code, trouble
from jobman_gcp.quotas import of_chips, of_hosts

_PAGE: Final = 500
_TPU: Final = "tpu.googleapis.com"


async def allowances(account: Account, project: str, zones: Sequence[str]) -> Allowances:
    """Give what can be known of the limits in some zones; of the rest, why not."""
    (infos, no_infos), (regions, no_regions) = await asyncio.gather(
        _known(QUOTAS, project, _quota_infos(account, project)),
        _known(COMPUTE, project, _regions(account, project)),
    )
    chips, others = tuple(of_chips(infos, zones)), tuple(of_hosts(regions, zones))
    return Allowances(chips, others, (*no_infos, *no_regions))


async def _known(
    api: Api, project: str, asked: Awaitable[Sequence[Any]]
) -> tuple[Sequence[Any], Sequence[str]]:
    """Give what an API answers, or nothing and why."""
    try:
        return await asked, ()
    except ApiError as error:
        what = f"{api.knows} of project {project} are not known"
        if error.code in {Code.PERMISSION_DENIED, Code.UNAUTHENTICATED}:
            return (), (str(trouble(error.failure, what, api)),)
        # Whoever asked is told at once, and may ask again.
        return (), (f"{what}: {error}: try again later",)


async def _quota_infos(account: Account, project: str) -> Sequence[Any]:
    """List the quotas of TPUs; each a message of type ``QuotaInfo``."""
    # It takes a second, in which others have work to do.
    make = await asyncio.to_thread(_client)
    found: list[Any] = []
    token = ""
    parent = f"projects/{project}/locations/global/services/{_TPU}"
    async with account.charged_to(project).channel(QUOTAS.host) as channel:
        client = make(channel)
        while True:
            request = {"parent": parent, "page_size": _PAGE, "page_token": token}
            pager = await call(client.list_quota_infos, request)
            page = await anext(aiter(pager.pages))
            found += page.quota_infos
            token = page.next_page_token
            if not token:
                return found


def _client() -> Callable[[Any], Any]:
    """Import Google's client; give what makes one on a channel."""
    from google.cloud.cloudquotas_v1 import CloudQuotasAsyncClient
    from google.cloud.cloudquotas_v1.services.cloud_quotas.transports import (
        CloudQuotasGrpcAsyncIOTransport as Transport,
    )

    return lambda channel: CloudQuotasAsyncClient(transport=Transport(channel=channel))


async def _regions(account: Account, project: str) -> Sequence[Mapping[str, Any]]:
    """List the regions, with what is used of each."""
    found: list[Mapping[str, Any]] = []
    token = ""
    while True:
        asked = {"maxResults": str(_PAGE), "pageToken": token}
        page = await rest.get(account, f"projects/{project}/regions", asked)
        found += page.get("items", ())
        token = page.get("nextPageToken", "")
        if not token:
            return found
