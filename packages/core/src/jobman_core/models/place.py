"""Where to ask for a slice next: what is known, and the three answers."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import attrs

from jobman_core.models.slice import SliceRequest


@attrs.frozen
class Refusal:
    """What a place answered when it was last asked."""

    #: Clock seconds (monotonic) of the answer.
    at: float
    reason: str
    #: Asking there again cannot help.
    permanent: bool = False
    #: How often in a row.
    times: int = 1


@attrs.frozen
class Where:
    """What has capacity, or none: for all jobs that ask for the same there."""

    cloud: str
    project: str
    zone: str
    accelerator: str
    pricing: str
    mode: str

    @classmethod
    def of(cls, request: SliceRequest) -> "Where":
        """Say what a request asks for its slice."""
        return cls(
            request.cloud,
            request.options.get("project") or "",
            request.zone,
            request.accelerator,
            request.pricing,
            request.mode,
        )


@attrs.frozen
class Stockout:
    """What some job of the home was last told where there was no capacity."""

    #: By the wall clock: it is to be known after a reboot too, and nothing hangs on its accuracy.
    at: datetime
    reason: str


@attrs.frozen
class PlaceContext:
    """All that the choice depends on."""

    #: The first wanted first.
    candidates: Sequence[SliceRequest]
    #: By index of the candidate; one that is not here has not refused.
    refusals: Mapping[int, Refusal]
    now: float
    #: By index of the candidate: why there was no capacity there lately, for any job of the home.
    empty: Mapping[int, str] = attrs.field(factory=dict)


@attrs.frozen
class Place:
    """Ask for this one now."""

    request: SliceRequest
    #: Its index among the candidates.
    index: int


@attrs.frozen
class Wait:
    """Ask nobody for so many seconds."""

    #: More than none.
    seconds: float = attrs.field(validator=attrs.validators.gt(0))
    reason: str


@attrs.frozen
class GiveUp:
    """No candidate is left."""

    reason: str
