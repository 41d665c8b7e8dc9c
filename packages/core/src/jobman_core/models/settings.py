"""Settings: what holds for all jobs of a home, unless a file or a flag says otherwise."""

from collections.abc import Mapping
from typing import Any

import attrs


@attrs.frozen
class Settings:
    """What holds for all jobs of a home, unless a file or a flag says otherwise."""

    #: For job files without ``tpu.cloud``.
    cloud: str | None = None
    #: For job files without ``job.session``.
    session: str | None = None
    #: Of the cloud account, for job files without ``tpu.project``.
    project: str | None = None
    #: Users who may act on everybody's jobs; the lab's file alone says who.
    admins: tuple[str, ...] = ()
    #: For display, like ``Europe/Paris``; None: the machine's.
    time_zone: str | None = None
    #: Cost of a chip-hour by accelerator family, for estimates.
    prices: Mapping[str, float] = attrs.field(factory=dict)
    #: Who is told of what.
    notices: Mapping[str, Any] = attrs.field(factory=dict)
    #: Seconds after which a controller without a beat counts as lost.
    lease: float = 90.0
    #: Seconds between two beats of a controller.
    beat: float = 15.0
    #: Sections of backends, by kind (``clouds``, ``sessions``, …) and name.
    backends: Mapping[str, Mapping[str, Mapping[str, Any]]] = attrs.field(factory=dict)

    def backend(self, kind: str, name: str) -> Mapping[str, Any]:
        """Give the section of one backend (kind ``cloud``, name ``local``: ``clouds.local``)."""
        return self.backends.get(f"{kind}s", {}).get(name, {})
