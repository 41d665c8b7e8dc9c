"""Where buckets are, and whether that is where the hosts are.

Source: https://cloud.google.com/storage/docs/locations.
"""

import re
from collections.abc import Mapping
from typing import Final

import attrs

#: The regions of what is called a dual-region with a name of its own.
_DUAL: Final[Mapping[str, tuple[str, str]]] = {
    "ASIA1": ("asia-northeast1", "asia-northeast2"),
    "EUR4": ("europe-north1", "europe-west4"),
    "EUR5": ("europe-west1", "europe-west2"),
    "EUR7": ("europe-west2", "europe-west3"),
    "EUR8": ("europe-west3", "europe-west6"),
    "NAM4": ("us-central1", "us-east1"),
}
#: How the names of the regions of a multi-region begin.
_MULTI: Final[Mapping[str, str]] = {"US": "us-", "EU": "europe-", "ASIA": "asia-"}
#: In Europe, and not in the European Union.
_NOT_EU: Final = frozenset({"europe-west2", "europe-west6"})
_ZONE: Final = re.compile(r"([a-z]+-[a-z]+\d+)-[a-z]")
_REGION: Final = re.compile(r"[a-z]+-[a-z]+\d+")


@attrs.frozen
class Location:
    """Where a bucket is, as Cloud Storage tells it."""

    #: ``US-CENTRAL1``, ``NAM4``, ``EU``; the last one also of a dual-region put together there.
    name: str
    #: The regions of such a dual-region.
    regions: tuple[str, ...] = ()

    def holds(self, region: str) -> bool | None:
        """Tell whether a region is in it; None: nobody knows."""
        name = self.name.upper()
        if self.regions:
            return region in {_region(each.lower()) for each in self.regions}
        if name in _DUAL:
            return region in _DUAL[name]
        if name in _MULTI:
            return region.startswith(_MULTI[name]) and not (name == "EU" and region in _NOT_EU)
        return region == name.lower() if _REGION.fullmatch(name.lower()) else None

    def __str__(self) -> str:
        """Give the name, as people write regions in job files."""
        parts = self.regions or _DUAL.get(self.name.upper(), ())
        name = self.name if self.name.upper() in {*_DUAL, *_MULTI} else self.name.lower()
        return f"{name} ({', '.join(part.lower() for part in parts)})" if parts else name


def region_of(zone: str) -> str | None:
    """Give the region of a zone of Google Cloud; None: it is none."""
    found = _ZONE.fullmatch(zone)
    return found[1] if found else None


def _region(place: str) -> str:
    """Give the region of a zone, and a region as it is."""
    return region_of(place) or place
