"""How an attempt ended, on each host and as a whole."""

from enum import StrEnum

import attrs


class OutcomeKind(StrEnum):
    """The three ends."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    #: The slice was lost, or someone stopped it: not a failure of the program.
    INTERRUPTED = "interrupted"


class Cause(StrEnum):
    """Why an attempt ended; a plugin's verdict has ``plugin:<name>`` and its own text instead."""

    EXITED = "exited"
    PREEMPTED = "preempted"
    #: The slice vanished, was stopped or deleted by someone else.
    SLICE_GONE = "slice gone"
    #: The host has no record of the end, and the processes are gone: a reboot, an OOM kill.
    HOST_LOST = "host lost"
    UNREACHABLE = "unreachable"
    STOPPED = "stopped"
    CANCELLED = "cancelled"
    REQUEUED = "requeued"
    REBOOTED = "rebooted"
    RESET = "reset"
    #: Its controller was lost, and nothing of it was left anywhere.
    STALE = "stale"
    SETUP_FAILED = "set-up failed"


@attrs.frozen
class HostExit:
    """The record that one host wrote of a program's end."""

    host: int
    #: As a shell gives it; None where the host was ended or lost before the program's own end.
    code: int | None
    #: The end of the host's output, for people and for judging plugins.
    tail: str = ""


@attrs.frozen
class Outcome:
    """The end of an attempt: recorded once, never changed."""

    kind: OutcomeKind = attrs.field(validator=attrs.validators.instance_of(OutcomeKind))
    cause: str
    exits: tuple[HostExit, ...] = ()
    #: One line for people: ``exit 3 on host 2``.
    detail: str = attrs.field(default="", validator=attrs.validators.instance_of(str))

    @property
    def exit_code(self) -> int | None:
        """The code that a person asks for: of the first cause, which stands first in ``exits``."""
        return self.exits[0].code if self.exits else None


def interrupted(cause: str, detail: str = "") -> Outcome:
    """Say that an attempt was cut short."""
    return Outcome(OutcomeKind.INTERRUPTED, cause, (), detail)
