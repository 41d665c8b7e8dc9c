"""Which accelerators and runtimes the emulated zones have.

Source: Google's "TPU regions and zones", "TPU versions" and "TPU software versions" pages.
"""

from typing import Final

import attrs

from jobman_core.models.accelerator import Accelerator

#: zone: the families that it has.
ZONES: Final = {
    "asia-east1-c": ("v2",),
    "asia-northeast1-b": ("v6e",),
    "asia-southeast1-b": ("v5litepod",),
    "europe-west4-a": ("v2", "v3", "v6e"),
    "europe-west4-b": ("v5litepod", "v5p"),
    "southamerica-east1-c": ("v6e",),
    "us-central1-a": ("v2", "v3", "v5litepod", "v5p", "v6e"),
    "us-central1-b": ("v2", "v3", "v6e"),
    "us-central1-c": ("v2",),
    "us-central1-f": ("v2",),
    "us-central2-b": ("v4",),
    "us-east1-c": ("v5litepod",),
    "us-east1-d": ("v6e",),
    "us-east5-a": ("v5p", "v6e"),
    "us-east5-b": ("v5litepod", "v6e"),
    "us-south1-a": ("v5litepod",),
    "us-west1-c": ("v5litepod",),
    "us-west4-a": ("v5litepod",),
    "us-west4-b": ("v5litepod",),
}

#: Chips by edge, of slices in the order of their size.
_FLAT: Final = ("1x1", "2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16")
_FLAT_CORES: Final = ("2x2", "4x4", "8x8", "8x16", "16x16", "16x32", "32x32")
_SOLID: Final = (
    *("2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4", "4x4x8", "4x8x8", "8x8x8", "8x8x16"),
    *("8x16x16", "16x16x16"),
)
#: family: the name that configurations have for it, and its topologies.
_FAMILIES: Final = {
    "v2": ("V2", _FLAT_CORES[:5]),
    "v3": ("V3", _FLAT_CORES),
    "v4": ("V4", _SOLID),
    "v5litepod": ("V5LITE_POD", _FLAT),
    "v5p": ("V5P", _SOLID),
    "v6e": ("V6E", _FLAT),
}

RUNTIMES: Final = (
    "tpu-ubuntu2204-base",
    "tpu-vm-base",
    "tpu-vm-pt-2.0",
    "tpu-vm-tf-2.17.0-pjrt",
    "tpu-vm-tf-2.17.0-pod-pjrt",
    "tpu-vm-tf-2.18.0-pjrt",
    "tpu-vm-tf-2.18.0-pod-pjrt",
    "tpu-vm-v4-base",
    "tpu-vm-v4-pt-2.0",
    "v2-alpha-tpuv4",
    "v2-alpha-tpuv4-pod",
    "v2-alpha-tpuv5",
    "v2-alpha-tpuv5-lite",
    "v2-alpha-tpuv6e",
)


@attrs.frozen
class Kind:
    """A kind of slice, as the API lists it."""

    #: Like ``v4-8``.
    type: str
    #: Like ``V4``: a name of ``AcceleratorConfig.Type``.
    generation: str
    #: Chips by edge, like ``2x2x1``.
    topology: str

    @property
    def family(self) -> str:
        """What stands before the number."""
        return self.type.partition("-")[0]

    @property
    def count(self) -> int:
        """The number in its name: what quotas count."""
        return int(self.type.partition("-")[2])

    @property
    def hosts(self) -> int:
        """How many machines a slice has."""
        return Accelerator.parse(self.type).hosts


def _kinds(family: str) -> tuple[Kind, ...]:
    generation, topologies = _FAMILIES[family]
    found = []
    for topology in topologies:
        chips = 1
        for edge in topology.split("x"):
            chips *= int(edge)
        number = chips if family in ("v5litepod", "v6e") else 2 * chips
        found.append(Kind(f"{family}-{number}", generation, topology))
    return tuple(found)


KINDS: Final = {kind.type: kind for family in _FAMILIES for kind in _kinds(family)}


def kinds_of(zone: str) -> tuple[Kind, ...]:
    """Give what a zone has; none for a zone that there is not."""
    families = ZONES.get(zone, ())
    return tuple(kind for kind in KINDS.values() if kind.family in families)


def region_of(zone: str) -> str:
    """Give the region of a zone."""
    return zone.rpartition("-")[0]
