"""What Google says of limits, as allowances. Pure.

Source: google/api/cloudquotas/v1; the Compute Engine API's regions; quota ids as clients meet them
(``TPUV5sPreemptibleLitepodPerProjectPerZoneForTPUAPI``). On-demand, spot and reserved slices have
quotas of their own. In v2 to v5p they count TensorCores, two a chip.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from jobman_core.models.accelerator import FAMILIES
from jobman_core.models.quota import Allowance, Sizes

_ID: Final = re.compile(
    r"TPUV(?P<generation>\d+[A-Z]?)s?"
    r"(?P<words>(?:Preemptible|Reserved|Pod|Litepod|Serving)*)"
    r"PerProjectPer(?:Zone|Region)ForTPUAPI"
)
#: In these, slices of one host are counted apart from larger ones, which are ``Pod``.
_DIVIDED: Final = frozenset({"v2", "v3"})
#: What the API says where there is no limit.
_UNLIMITED: Final = -1
#: What hosts take of a region: the Compute API's word for it, ours, and its unit.
_OF_HOSTS: Final = {
    "IN_USE_ADDRESSES": ("external IPs", ""),
    "INSTANCES": ("instances", ""),
    "CPUS": ("CPUs", ""),
    "PREEMPTIBLE_CPUS": ("preemptible CPUs", ""),
    "DISKS_TOTAL_GB": ("standard disks", "GB"),
    "SSD_TOTAL_GB": ("SSD disks", "GB"),
    "HDB_TOTAL_GB": ("balanced hyperdisks", "GB"),
}


@attrs.frozen
class Kind:
    """What a quota of TPUs is about."""

    family: str
    pricing: str
    sizes: Sizes

    @classmethod
    def of(cls, quota_id: str) -> "Kind | None":
        """Read a quota's id; None: it is about something else."""
        match = _ID.fullmatch(quota_id)
        if match is None:
            return None
        words = match["words"]
        family = f"v{match['generation'].lower()}" + ("litepod" if "Litepod" in words else "")
        pricing = "spot" if "Preemptible" in words else "ondemand"
        pricing = "reserved" if "Reserved" in words else pricing
        sizes = Sizes.ALL
        if family in _DIVIDED:
            sizes = Sizes.MANY_HOSTS if "Pod" in words else Sizes.ONE_HOST
        elif family == "v5litepod":
            sizes = Sizes.ONE_HOST if "Serving" in words else Sizes.MANY_HOSTS
        return cls(family, pricing, sizes)

    def chips(self, number: int) -> int | None:
        """Give a limit in chips; None: there is none."""
        if number == _UNLIMITED:
            return None
        counts_chips = FAMILIES.get(self.family, (True, ""))[0]
        return number if counts_chips else number // 2


def of_chips(infos: Iterable[Any], zones: Sequence[str]) -> Iterator[Allowance]:
    """Give the limits on chips in some zones.

    Args:
        infos: messages of type ``QuotaInfo``.
        zones: of the account.
    """
    for info in infos:
        kind = Kind.of(info.quota_id)
        for place, number in _limits(info).items() if kind else ():
            covered = tuple(zone for zone in zones if place in (zone, region_of(zone)))
            if kind and covered:
                limit = kind.chips(number)
                yield Allowance(place, covered, kind.family, limit, kind.pricing, kind.sizes)


def of_hosts(regions: Iterable[Mapping[str, Any]], zones: Sequence[str]) -> Iterator[Allowance]:
    """Give the limits on what hosts take besides chips, in the regions of some zones.

    Args:
        regions: as the Compute API lists them.
        zones: of the account.
    """
    for region in regions:
        covered = tuple(zone for zone in zones if region_of(zone) == region["name"])
        for quota in region.get("quotas", ()) if covered else ():
            what, unit = _OF_HOSTS.get(quota.get("metric", ""), ("", ""))
            if what:
                limit = int(quota.get("limit", 0))
                yield Allowance(
                    region["name"],
                    covered,
                    what,
                    None if limit == _UNLIMITED else limit,
                    used=int(quota.get("usage", 0)),
                    unit=unit,
                )


def region_of(zone: str) -> str:
    """Give the region of a zone."""
    return zone.rpartition("-")[0]


def _limits(info: Any) -> Mapping[str, int]:  # noqa: ANN401 - a message
    """Give the limit of each place: its own, else what holds for all others."""
    own, others = {}, {}
    for each in info.dimensions_infos:
        places = [each.dimensions[key] for key in ("zone", "region") if key in each.dimensions]
        if len(places) == len(each.dimensions) == 1:
            own[places[0]] = each.details.value
        elif not each.dimensions:
            others.update(dict.fromkeys(each.applicable_locations, each.details.value))
    return {**others, **own}
