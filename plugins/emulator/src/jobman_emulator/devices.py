"""Which device files the hosts of a TPU slice have."""

from collections.abc import Mapping

#: The families whose chips are reached through ``/dev/accel*``; later ones go through VFIO.
_ACCEL = ("v2", "v3", "v4")
#: Chips of a host, but for the single-host slices of v5e and v6e.
_CHIPS = 4
_ONE_HOST = ("v5litepod", "v5e", "v6e")


def devices_of(metadata: Mapping[str, str]) -> list[str]:
    """Give the paths for one host.

    Args:
        metadata: its ``accelerator-type`` is ``FAMILY-N``; without one there are no devices.
    """
    family, _, size = metadata.get("accelerator-type", "").partition("-")
    if not size.isdigit():
        return []
    chips = int(size) if family in _ONE_HOST and int(size) in (1, _CHIPS, 2 * _CHIPS) else _CHIPS
    if family in _ACCEL:
        return [f"/dev/accel{number}" for number in range(chips)]
    return ["/dev/vfio/vfio", *(f"/dev/vfio/{number}" for number in range(chips))]
