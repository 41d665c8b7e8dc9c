"""Settings: what holds for all jobs of a home, unless a file or a flag says otherwise."""

from collections.abc import Mapping
from typing import Any

import attrs

from jobman_core.models.notice import NotifyRule
from jobman_core.models.reap import ReapRules


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
    #: Cost of a chip-hour by accelerator family, for estimates: a number, or a map with
    #: ``ondemand``, ``spot`` and ``zones``, whose entries are numbers or maps of the first two.
    prices: Mapping[str, Any] = attrs.field(factory=dict)
    #: The day that those prices are of: ``2026-12-01``.
    prices_of: str | None = None
    #: That they are in; None: US dollars.
    currency: str | None = None
    #: Who is told of what: as the lab's file says; None: it says nothing.
    notify: NotifyRule | None = None
    #: The same for one's own jobs, as one's own file says.
    own_notify: NotifyRule | None = None
    #: Seconds for which a job may wait for a slice before people are told that it is stuck.
    stuck_after: float = 6 * 3600.0
    #: Seconds after which a controller without a beat counts as lost.
    lease: float = 90.0
    #: Seconds between two beats of a controller.
    beat: float = 15.0
    #: What may be done with what is dead; the lab's file alone says so.
    reap: ReapRules = ReapRules()
    #: Sections of backends, by kind (``clouds``, ``sessions``, …) and name.
    backends: Mapping[str, Mapping[str, Mapping[str, Any]]] = attrs.field(factory=dict)

    def backend(self, kind: str, name: str) -> Mapping[str, Any]:
        """Give the section of one backend (kind ``cloud``, name ``local``: ``clouds.local``)."""
        return self.backends.get(f"{kind}s", {}).get(name, {})
