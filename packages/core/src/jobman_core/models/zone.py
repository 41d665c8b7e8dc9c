"""Zones of clouds, and what one list call of a zone showed: for all controllers of a home."""

from collections.abc import Mapping

import attrs

from jobman_core.models.slice import Present, SliceIdentity


@attrs.frozen
class Zone:
    """What one list call tells of."""

    cloud: str
    name: str
    #: Where the cloud has such things; empty: the account's.
    project: str = ""

    @classmethod
    def of(cls, cloud: str, identity: SliceIdentity) -> "Zone":
        """Say where a slice is to be found."""
        return cls(cloud, identity.zone, identity.project)


@attrs.frozen
class ZoneLook:
    """One list of a zone. What is not in it may be there all the same."""

    #: When it began: this machine's monotonic clock, in seconds.
    at: float
    #: The home's own slices, by name; where there is no list, what the last one had.
    listed: Mapping[str, Present] = attrs.field(factory=dict)
    #: Why there is no list, so that nothing is known; empty: there is one.
    why: str = ""
    #: Rises with every change of what is listed.
    changes: int = 0
