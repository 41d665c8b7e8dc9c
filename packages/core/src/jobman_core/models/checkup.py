"""What ``jobman doctor`` finds: one thing that jobman needs, how it stands, and its remedy."""

from enum import StrEnum
from typing import Self

import attrs


class Health(StrEnum):
    """How something stands that jobman needs."""

    WELL = "well"
    #: It works, and something about it will surprise.
    DOUBT = "doubt"
    BROKEN = "broken"
    #: Nobody could tell; the text says why.
    UNKNOWN = "unknown"


@attrs.frozen
class Checkup:
    """One thing that jobman needs, as it stands now."""

    #: What was looked at, in a word or two: ``tmux``, ``credentials``.
    name: str
    health: Health
    #: What was found, in one line.
    text: str
    #: What to do about it, a command where there is one; empty: nothing.
    remedy: str = ""

    @classmethod
    def well(cls, name: str, text: str) -> Self:
        """Say that it is as it should be."""
        return cls(name, Health.WELL, text)

    @classmethod
    def doubt(cls, name: str, text: str, remedy: str = "") -> Self:
        """Say that it will surprise."""
        return cls(name, Health.DOUBT, text, remedy)

    @classmethod
    def broken(cls, name: str, text: str, remedy: str = "") -> Self:
        """Say that it keeps jobman from working."""
        return cls(name, Health.BROKEN, text, remedy)

    @classmethod
    def unknown(cls, name: str, text: str, remedy: str = "") -> Self:
        """Say that nobody could tell, and why."""
        return cls(name, Health.UNKNOWN, text, remedy)

    @classmethod
    def of_text(cls, name: str, told: str, health: Health = Health.BROKEN) -> Self:
        """Take a message apart: what is wrong, and behind the last colon what to do."""
        text, _, remedy = told.rpartition(": ")
        return cls(name, health, text, remedy) if text else cls(name, health, remedy)

    @classmethod
    def of_error(cls, name: str, error: Exception, health: Health = Health.BROKEN) -> Self:
        """Take an error's message apart."""
        return cls.of_text(name, str(error), health)


@attrs.frozen
class Examined:
    """One part of what jobman needs, and all that was looked at there."""

    #: For people: ``This machine``, ``Cloud gcp``.
    group: str
    checkups: tuple[Checkup, ...]
