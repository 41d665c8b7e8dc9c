"""Where to ask for a slice next: what is known, and the three answers."""

from collections.abc import Mapping, Sequence

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
class PlaceContext:
    """All that the choice depends on."""

    #: The first wanted first.
    candidates: Sequence[SliceRequest]
    #: By index of the candidate; one that is not here has not refused.
    refusals: Mapping[int, Refusal]
    now: float


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
