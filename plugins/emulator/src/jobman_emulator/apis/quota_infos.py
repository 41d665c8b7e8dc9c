"""The Cloud Quotas API: the limits that are set, as it tells them.

Source: google/api/cloudquotas/v1, and answers of the real one: of each quota there is an entry
without dimensions for all places that have none of their own; a limit of 0 is left out.
"""

from collections.abc import Iterator
from typing import Final

from google.cloud.cloudquotas_v1 import types

from jobman_emulator.apis.rpc import Rpc
from jobman_emulator.catalog import ZONES, region_of
from jobman_emulator.errors import invalid, not_found
from jobman_emulator.limits import QUEUED, QUEUED_ID, Limits
from jobman_emulator.paging import page
from jobman_emulator.quotas import QUOTAS

_SERVICE: Final = "google.api.cloudquotas.v1.CloudQuotas"
_API: Final = "cloudquotas.googleapis.com"
_MAY: Final = "cloudquotas.quotas.get"
RPCS: Final = (
    Rpc(_API, "ListQuotaInfos", _MAY, _SERVICE, types.ListQuotaInfosRequest),
    Rpc(_API, "GetQuotaInfo", _MAY, _SERVICE, types.GetQuotaInfoRequest),
)
_TPU: Final = "tpu.googleapis.com"
#: What the API calls a number without a limit.
_UNLIMITED: Final = -1
_SCOPES: Final = {
    "Zone": tuple(sorted(ZONES)),
    "Region": tuple(sorted({region_of(zone) for zone in ZONES})),
}


class QuotaInfos:
    """The methods on limits."""

    def __init__(self, limits: Limits) -> None:
        """Tell these limits."""
        self._limits = limits

    def list_quota_infos(
        self, request: types.ListQuotaInfosRequest, _version: str
    ) -> types.ListQuotaInfosResponse:
        """List the quotas of a service; there are some of TPUs alone."""
        infos = self._infos(request.parent)
        names, token = page(sorted(infos), request)
        shown = [infos[name] for name in names]
        return types.ListQuotaInfosResponse(quota_infos=shown, next_page_token=token)

    def get_quota_info(self, request: types.GetQuotaInfoRequest, _version: str) -> types.QuotaInfo:
        """Describe one."""
        infos = self._infos(request.name.partition("/quotaInfos/")[0])
        if request.name not in infos:
            raise not_found(request.name)
        return infos[request.name]

    def _infos(self, parent: str) -> dict[str, types.QuotaInfo]:
        match parent.split("/"):
            case ["projects", _, "locations", "global", "services", service]:
                infos = self._all(parent) if service == _TPU else ()
                return {info.name: info for info in infos}
        raise invalid(
            f"Invalid parent '{parent}': it must be projects/P/locations/global/services/S"
        )

    def _all(self, parent: str) -> Iterator[types.QuotaInfo]:
        for quota in QUOTAS:
            for scope in _SCOPES:
                yield self._info(parent, quota.id(scope), quota.metric, quota.what, scope)
        yield self._info(parent, QUEUED_ID, f"{_TPU}/queued_resources", QUEUED, "Zone")

    def _info(
        self, parent: str, quota_id: str, metric: str, what: str, scope: str
    ) -> types.QuotaInfo:
        dimension = scope.lower()
        own = {
            place: limit
            for (place, limited), limit in self._limits.quotas.items()
            if limited == what and place in _SCOPES[scope]
        }
        told = [
            types.DimensionsInfo(
                dimensions={dimension: place},
                details=types.QuotaDetails(value=limit),
                applicable_locations=[place],
            )
            for place, limit in sorted(own.items())
        ]
        others = types.DimensionsInfo(
            details=types.QuotaDetails(value=_UNLIMITED),
            applicable_locations=[place for place in _SCOPES[scope] if place not in own],
        )
        return types.QuotaInfo(
            name=f"{parent}/quotaInfos/{quota_id}",
            quota_id=quota_id,
            metric=metric,
            service=_TPU,
            is_precise=True,
            container_type=types.QuotaInfo.ContainerType.PROJECT,
            dimensions=[dimension],
            dimensions_infos=[*told, others],
            is_concurrent=True,
        )
