"""What TPU quotas are called, and which slices each of them counts.

Source: quota ids in Google's error texts and in answers of the Cloud Quotas API. On-demand and spot
slices have quotas of their own, and in some families so have slices of one host and larger ones.
"""

from typing import Final

import attrs

from jobman_emulator.catalog import KINDS, Kind

#: family: what its quotas call it, and what follows for slices of one host and for larger ones.
_NAMES: Final = {
    "v2": ("V2s", "", "Pod"),
    "v3": ("V3s", "", "Pod"),
    "v4": ("V4s", "Pod", "Pod"),
    "v5litepod": ("V5s", "LitepodServing", "Litepod"),
    "v5p": ("V5P", "", ""),
    "v6e": ("V6E", "", ""),
}


@attrs.frozen
class Quota:
    """What is counted together."""

    family: str
    spot: bool
    #: As its id has it: empty, ``Pod``, ``Litepod`` or ``LitepodServing``.
    sizes: str

    @property
    def what(self) -> str:
        """What a limit on it is set by: ``v6e-spot``."""
        return f"{self.family}-{'spot' if self.spot else 'on-demand'}"

    def id(self, scope: str) -> str:
        """Give its name; the scope is ``Zone`` or ``Region``."""
        return f"TPU{self._short}PerProjectPer{scope}ForTPUAPI"

    @property
    def metric(self) -> str:
        """What the Cloud Quotas API calls what it measures."""
        parts = self.sizes.replace("Serving", "-serving").lower().split("-")
        words = ["tpu", _NAMES[self.family][0].lower(), *filter(None, parts)]
        return "tpu.googleapis.com/" + "-".join([*words, *(["preemptible"] if self.spot else [])])

    @property
    def _short(self) -> str:
        return f"{_NAMES[self.family][0]}{'Preemptible' if self.spot else ''}{self.sizes}"


def quota_of(kind: Kind, *, spot: bool) -> Quota:
    """Give the quota that a slice counts against."""
    _, one_host, larger = _NAMES[kind.family]
    return Quota(kind.family, spot, one_host if kind.hosts == 1 else larger)


#: All of them, each once.
QUOTAS: Final = tuple(
    dict.fromkeys(quota_of(kind, spot=spot) for kind in KINDS.values() for spot in (False, True))
)
