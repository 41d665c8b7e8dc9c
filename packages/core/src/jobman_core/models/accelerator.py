"""What the names of TPU types say: how many hosts and cores a slice of each has.

Source: Google's "TPU versions" pages. In v2 to v5p a name counts TensorCores, two a chip and four
chips a host; in v5e and v6e it counts chips, one core each.
"""

import re
from typing import Final

import attrs

#: family: (the name counts chips, the usual runtime)
FAMILIES: Final = {
    "v2": (False, "tpu-ubuntu2204-base"),
    "v3": (False, "tpu-ubuntu2204-base"),
    "v4": (False, "tpu-ubuntu2204-base"),
    "v5p": (False, "v2-alpha-tpuv5"),
    "v5litepod": (True, "v2-alpha-tpuv5-lite"),
    "v6e": (True, "v2-alpha-tpuv6e"),
}
_ALIASES: Final = {"v5e": "v5litepod"}
#: Slices of so many chips are one machine; larger ones have machines of four chips.
_ONE_HOST_CHIPS: Final = (1, 4, 8)
_MANY_HOSTS_FROM: Final = 16
#: Characters of what is no type that a message shows.
_LONGEST: Final = 60


def family_of(name: str) -> str:
    """Give a family's own name: ``v5e`` is another name of ``v5litepod``."""
    return _ALIASES.get(name, name)


def family_names() -> tuple[str, ...]:
    """Give every name of a family, other names of one included."""
    return (*FAMILIES, *_ALIASES)


@attrs.frozen
class Accelerator:
    """A TPU type, like ``v6e-64``."""

    family: str
    #: The number in the name.
    count: int

    @classmethod
    def parse(cls, text: str) -> "Accelerator":
        """Read a name; ``v5e`` is another name of ``v5litepod``.

        Raises:
            ValueError: no such type; the message says which there are.
        """
        match = re.fullmatch(r"([a-z0-9]+)-([1-9][0-9]{0,4})", text)
        family = family_of(match[1]) if match else ""
        if match is None or family not in FAMILIES:
            known = ", ".join(f"{name}-N" for name in family_names())
            shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
            msg = f"unknown accelerator {shown!r}: use one of {known}"
            raise ValueError(msg)
        count = int(match[2])
        if FAMILIES[family][0]:
            if count not in _ONE_HOST_CHIPS and (count < _MANY_HOSTS_FROM or count % 4):
                sizes = f"1, 4, 8 and multiples of 4 from {_MANY_HOSTS_FROM}"
                msg = f"unknown accelerator {text!r}: {family} comes in {sizes}"
                raise ValueError(msg)
        elif count % 8:
            msg = f"unknown accelerator {text!r}: {family} comes in multiples of 8"
            raise ValueError(msg)
        return cls(family, count)

    @property
    def name(self) -> str:
        """The name that clouds and files use."""
        return f"{self.family}-{self.count}"

    @property
    def hosts(self) -> int:
        """How many machines a slice has, to plan with: a slice that exists knows better."""
        if FAMILIES[self.family][0]:
            return 1 if self.count in _ONE_HOST_CHIPS else self.count // 4
        return max(1, self.count // 8)

    @property
    def cores(self) -> int:
        """How many TensorCores a slice has."""
        return self.count

    @property
    def chips(self) -> int:
        """How many chips a slice has: what is paid for."""
        return self.count if FAMILIES[self.family][0] else self.count // 2

    @property
    def runtime(self) -> str:
        """The runtime version that is usual for it."""
        return FAMILIES[self.family][1]
