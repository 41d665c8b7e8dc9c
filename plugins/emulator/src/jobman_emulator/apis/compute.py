"""The Compute API, over REST: projects, regions with their quotas, and zones.

Source: the Compute Engine API's reference, and what ``gcloud compute tpus tpu-vm ssh`` reads of it.
"""

from collections.abc import Mapping
from typing import Any, Final

from jobman_emulator.apis.account import Account
from jobman_emulator.apis.rpc import Rpc
from jobman_emulator.catalog import ZONES, region_of
from jobman_emulator.errors import not_found
from jobman_emulator.limits import COMPUTE, Limits
from jobman_emulator.rules import PROJECT_NUMBER

_API: Final = "compute.googleapis.com"
RPCS: Final = (
    Rpc(_API, "GetComputeProject", "compute.projects.get"),
    Rpc(_API, "ListRegions", "compute.regions.list"),
    Rpc(_API, "GetRegion", "compute.regions.get"),
    Rpc(_API, "ListZones", "compute.zones.list"),
)
#: What the API calls a number without a limit.
_UNLIMITED: Final = -1.0
#: What a path has to look like, by method.
PATHS: Final = {
    "GetComputeProject": "projects/{project}",
    "ListRegions": "projects/{project}/regions",
    "GetRegion": "projects/{project}/regions/{region}",
    "ListZones": "projects/{project}/zones",
}
_REGIONS: Final = tuple(sorted({region_of(zone) for zone in ZONES}))

_Path = Mapping[str, str]
_Json = dict[str, Any]


class Compute:
    """The methods: a request is what its path says. Lists have one page."""

    def __init__(self, limits: Limits, account: Account) -> None:
        """Tell the limits and settings of a project."""
        self._limits = limits
        self._account = account

    def get_compute_project(self, request: _Path, _version: str) -> _Json:
        """Describe the project, with its metadata."""
        # gcloud decodes the fingerprint.
        metadata: _Json = {"kind": "compute#metadata", "fingerprint": "am9ibWFu"}
        if self._account.os_login is not None:
            value = str(self._account.os_login).upper()
            metadata["items"] = [{"key": "enable-oslogin", "value": value}]
        return {
            "kind": "compute#project",
            "id": str(PROJECT_NUMBER),
            "name": request["project"],
            "commonInstanceMetadata": metadata,
            "selfLink": _link(request),
            "xpnProjectStatus": "UNSPECIFIED_XPN_PROJECT_STATUS",
            "defaultServiceAccount": f"{PROJECT_NUMBER}-compute@developer.gserviceaccount.com",
        }

    def list_regions(self, request: _Path, _version: str) -> _Json:
        """List the regions, with what is used of each."""
        items = [self._region(request, region) for region in _REGIONS]
        return {"kind": "compute#regionList", "items": items, "selfLink": _link(request, "regions")}

    def get_region(self, request: _Path, _version: str) -> _Json:
        """Describe a region."""
        if request["region"] not in _REGIONS:
            raise not_found(f"projects/{request['project']}/regions/{request['region']}")
        return self._region(request, request["region"])

    def list_zones(self, request: _Path, _version: str) -> _Json:
        """List the zones."""
        items = [
            {
                "kind": "compute#zone",
                "name": zone,
                "status": "UP",
                "region": _link(request, "regions", region_of(zone)),
                "selfLink": _link(request, "zones", zone),
            }
            for zone in sorted(ZONES)
        ]
        return {"kind": "compute#zoneList", "items": items, "selfLink": _link(request, "zones")}

    def _region(self, request: _Path, region: str) -> _Json:
        quotas = [
            {
                "metric": metric,
                "limit": float(self._limits.quotas.get((region, what), _UNLIMITED)),
                "usage": float(self._limits.used(region, what)),
            }
            for what, metric in COMPUTE.items()
        ]
        return {
            "kind": "compute#region",
            "name": region,
            "status": "UP",
            "quotas": quotas,
            "zones": [_link(request, "zones", zone) for zone in ZONES if region_of(zone) == region],
            "selfLink": _link(request, "regions", region),
        }


def _link(request: _Path, *parts: str) -> str:
    path = "/".join(["projects", request["project"], *parts])
    return f"https://www.googleapis.com/compute/v1/{path}"
