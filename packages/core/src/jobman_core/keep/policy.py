"""What is done about a slice that is kept alive, by what is seen and remembered of it. Pure."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any, Final

import attrs

from jobman_core.errors import (
    CloudError,
    JobmanError,
    PermanentCloudError,
    StockoutError,
    TransientCloudError,
)
from jobman_core.models.reap import KEPT, KeptSlice
from jobman_core.models.slice import (
    Absent,
    Observation,
    Present,
    SliceIdentity,
    SlicePhase,
    Unknown,
)
from jobman_core.models.zone import Zone

#: How long a place that gave nothing is left alone: doubled each time, up to the longest.
FIRST_WAIT: Final = timedelta(minutes=1)
LONGEST_WAIT: Final = timedelta(minutes=10)
#: The same where asking again cannot help: people may have mended it by then.
REFUSED_WAIT: Final = timedelta(days=1)
_DOUBLINGS: Final = 10
#: Looks in a row that show nothing before people hear of it: a cloud may be away for a moment.
_MANY_UNKNOWN: Final = 3
_MOST_TOLD: Final = 10


def _texts(values: Iterable[str]) -> tuple[str, ...]:
    # What is wrong may be worded otherwise each time.
    return tuple(values)[-_MOST_TOLD:]


@attrs.frozen
class Memory:
    """What is remembered of one slice between two looks."""

    #: The newest that was asked for, or is about to be; 0: none was.
    generation: int = 0
    #: Nothing has come of that request yet, as far as is known: asking again asks for the same.
    open: bool = False
    #: How many looks in a row showed nothing.
    unknown: int = 0
    #: How often in a row it was refused.
    refusals: int = 0
    #: It is not asked for before; None: at once.
    due: datetime | None = None
    #: What was asked for: a list that says otherwise by now is reason to ask at once.
    asked: str = ""
    #: What people were told since it was ready last: nothing is told twice.
    told: tuple[str, ...] = attrs.field(default=(), converter=_texts)

    @classmethod
    def read(cls, facts: Mapping[str, Any]) -> "Memory":
        """Read it as it was written down."""
        due = facts.get("due")
        return cls(**{**facts, "due": datetime.fromisoformat(due) if due else None})

    def written(self) -> dict[str, Any]:
        """Give it as JSON."""
        due = self.due.isoformat() if self.due else None
        return {**attrs.asdict(self), "due": due, "told": list(self.told)}

    def may_ask(self, asked: str, now: datetime) -> bool:
        """Tell whether it is time; a moment too far off was written by a clock that was wrong."""
        left = self.due - now if self.due else timedelta(0)
        return self.asked != asked or not timedelta(0) < left <= REFUSED_WAIT

    def refused(self, error: CloudError, now: datetime) -> "Memory":
        """Remember that the request came to nothing, and how long to leave its place alone."""
        wait = FIRST_WAIT * 2 ** min(self.refusals, _DOUBLINGS)
        wait = REFUSED_WAIT if isinstance(error, PermanentCloudError) else min(wait, LONGEST_WAIT)
        return attrs.evolve(self, open=False, refusals=self.refusals + 1, due=now + wait)


class Act(Enum):
    """What is done about a slice now."""

    NOTHING = auto()
    DELETE = auto()
    ASK = auto()


@attrs.frozen
class Verdict:
    """What is done about a slice now, remembered first, and told."""

    act: Act
    memory: Memory
    #: One line for people; empty: nothing is new.
    line: str = ""


def judge(kept: KeptSlice, home: str, seen: Observation, memory: Memory, now: datetime) -> Verdict:
    """Say what is to be done about a slice, by what its cloud shows of it."""
    match seen:
        case Unknown():
            return _judge_unknown(kept, seen, memory)
        case Present():
            return _judge_present(kept, home, seen, attrs.evolve(memory, unknown=0), now)
        case Absent():
            memory = attrs.evolve(memory, unknown=0)
            if memory.open and seen.refusal is not None:
                return _refused(kept, Act.NOTHING, memory, seen.refusal, now)
            if not memory.may_ask(_words(kept), now):
                return Verdict(Act.NOTHING, memory)
            number = memory.generation if memory.open else memory.generation + 1
            asking = attrs.evolve(
                memory, generation=number, open=True, due=None, asked=_words(kept)
            )
            return _tell(Act.ASK, asking, f"asks for {name_of(kept)}: {_words(kept)}")


def _judge_unknown(kept: KeptSlice, seen: Unknown, memory: Memory) -> Verdict:
    """Do nothing; tell of it where it lasts."""
    memory = attrs.evolve(memory, unknown=min(memory.unknown + 1, _MANY_UNKNOWN))
    if memory.unknown < _MANY_UNKNOWN:
        return Verdict(Act.NOTHING, memory)
    line = f"nothing is known of {name_of(kept)}, and nothing is done about it: {seen.why}"
    return _tell(Act.NOTHING, memory, line, key="unknown")


def _judge_present(
    kept: KeptSlice, home: str, seen: Present, memory: Memory, now: datetime
) -> Verdict:
    identity = identity_of(kept, home, seen)
    if identity is None:
        told = "is there, and nothing that this home keeps alive: it is left alone"
        return _tell(Act.NOTHING, memory, f"{name_of(kept)} {told}; choose another name")
    # Also where nothing is remembered: its label knows.
    memory = attrs.evolve(memory, generation=identity.generation)
    match seen.phase:
        case SlicePhase.READY:
            # All that was told before is over with that.
            key = f"ready {identity.generation}"
            before = [told for told in memory.told if told == key]
            ready = Memory(identity.generation, asked=memory.asked, told=before)
            return _tell(Act.NOTHING, ready, f"{name_of(kept)} is ready", key=key)
        case SlicePhase.LOST if memory.open and seen.refusal is not None:
            return _refused(kept, Act.DELETE, memory, seen.refusal, now)
        case SlicePhase.LOST:
            lost = attrs.evolve(memory, open=False)
            line = f"{name_of(kept)} is {seen.state}: it is deleted, and asked for again"
            return _tell(Act.DELETE, lost, line)
        case _:
            return Verdict(Act.NOTHING, memory)


def judge_error(
    kept: KeptSlice, act: Act, memory: Memory, error: JobmanError, now: datetime
) -> Verdict:
    """Say what is to be remembered, and told, of a cloud that did not do what was decided."""
    if act is not Act.ASK or not isinstance(error, CloudError):
        return _tell(Act.NOTHING, memory, f"{name_of(kept)}: {error}", key=_kind(error))
    verdict = _refused(kept, Act.NOTHING, memory, error, now)
    # A request of which nobody heard may be on its way all the same.
    still = isinstance(error, TransientCloudError)
    return attrs.evolve(verdict, memory=attrs.evolve(verdict.memory, open=still))


def _refused(
    kept: KeptSlice, act: Act, memory: Memory, error: CloudError, now: datetime
) -> Verdict:
    """Remember that there is none now, and why."""
    daily = "it is asked for again in a day, or once its entry is another"
    again = daily if isinstance(error, PermanentCloudError) else "it is asked for again"
    line = f"{name_of(kept)}: {error}; {again}"
    return _tell(act, memory.refused(error, now), line, key=_kind(error))


def _kind(error: JobmanError) -> str:
    """Give what an error is told once by: one that passes may be worded otherwise each time."""
    passes = isinstance(error, StockoutError | TransientCloudError)
    return type(error).__name__ if passes else str(error)


def _tell(act: Act, memory: Memory, line: str, *, key: str = "") -> Verdict:
    """Tell people, unless they were told."""
    key = key or line
    if key in memory.told:
        return Verdict(act, memory)
    return Verdict(act, attrs.evolve(memory, told=(*memory.told, key)), line)


def identity_of(kept: KeptSlice, home: str, seen: Present) -> SliceIdentity | None:
    """Read off a slice that it is one that this home keeps alive; None: it is not."""
    found = SliceIdentity.from_labels(kept.name, kept.zone, seen.labels, kept.project)
    return found if found and (found.home, found.job) == (home, KEPT) else None


def _words(kept: KeptSlice) -> str:
    request = f"{kept.accelerator} in {kept.zone}, {kept.pricing}, {kept.mode}"
    return f"{request}, {kept.runtime}" if kept.runtime else request


def key_of(kept: KeptSlice) -> str:
    """Give what its facts are remembered under."""
    return f"{kept.cloud}/{kept.project}/{kept.zone}/{kept.name}"


def zone_of(key: str) -> Zone:
    """Give where something is that is remembered under a key."""
    cloud, project, zone, _ = key.split("/", 3)
    return Zone(cloud, zone, project)


def name_of(kept: KeptSlice) -> str:
    """Name it to people."""
    return f"kept slice {kept.name}"
