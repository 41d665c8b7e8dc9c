"""Attempts: one run of a task, or of a job's command, from claim to outcome."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

import attrs

from jobman_core.command import Command
from jobman_core.models.outcome import Outcome

#: In a plan's argv: replaced by the path that the script got on the host.
SCRIPT = "{script}"


class AttemptMode(StrEnum):
    """How an attempt relates to the one before it."""

    FRESH = "fresh"
    #: Goes on from the last checkpoint.
    RESUME = "resume"


@attrs.frozen
class Attempt:
    """An attempt as the store has it."""

    #: Unique for ever; names it on the hosts.
    token: str
    job: str
    #: The slice's generation that it was claimed for.
    generation: int
    #: The task's run number; of a command, the job's.
    number: int
    run_id: str
    claimed_at: datetime
    #: Both None for a job's command.
    queue: str | None = None
    task: str | None = None
    mode: AttemptMode = AttemptMode.FRESH
    stage: int = 0
    parent: str | None = None
    #: The hosts that it runs on; empty until it was launched.
    hosts: tuple[int, ...] = ()
    #: The commit that was checked out.
    commit: str | None = None
    #: When every host had been told to launch it.
    started_at: datetime | None = None
    #: Someone asked for its end, with this cause; its controller has yet to do it.
    end_cause: str | None = None
    ended_at: datetime | None = None
    outcome: Outcome | None = None

    @property
    def live(self) -> bool:
        """Tell whether it may still run somewhere."""
        return self.ended_at is None


@attrs.frozen
class AttemptRef:
    """What the hosts' agents know an attempt by."""

    token: str
    #: Of the lease that acts; an agent refuses one older than the newest it has seen.
    epoch: int
    hosts: tuple[int, ...]


@attrs.frozen
class LaunchPlan:
    """What to start on each host of an attempt."""

    #: The user's script, as the content of a file.
    script: str
    #: How to run it; :data:`SCRIPT` stands for its path.
    command: Command
    #: What only one host sees, by host index.
    host_env: Mapping[int, Mapping[str, str]] = attrs.field(factory=dict, repr=False)
    #: What it leaves running when it has ended by itself is there to stay, whatever is launched
    #: later.
    stays: bool = False


class HostState(StrEnum):
    """What a host's agent knows of an attempt."""

    #: Never heard of it.
    NONE = "NONE"
    LAUNCHING = "LAUNCHING"
    RUNNING = "RUNNING"
    #: The program ended by itself; its exit status is on record.
    DONE = "DONE"
    #: No record, and the boot id changed or the processes are gone.
    LOST = "LOST"
    #: Its end was ordered, and something of it still lives: whoever ordered it was cut short.
    ENDING = "ENDING"
    #: Ended on our order; no later launch of it is accepted.
    ENDED = "ENDED"
    #: No answer: says nothing about the program.
    SILENT = "SILENT"


@attrs.frozen
class HostReport:
    """One answer of one host about an attempt, with the output that is new."""

    host: int
    state: HostState
    #: With DONE.
    code: int | None = None
    #: Where ``data`` begins in the attempt's output.
    offset: int = 0
    data: bytes = attrs.field(default=b"", repr=False)
    #: How long the output is on the host.
    size: int = 0
    #: With SILENT: what was tried and what happened.
    detail: str = ""
