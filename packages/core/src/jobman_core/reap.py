"""What is of no use any more at a cloud, and what may become of it. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Final

import attrs

from jobman_core.interfaces.cloud import Listed
from jobman_core.models.reap import Dead, Fate, ReapRules
from jobman_core.models.slice import Slice, SlicePhase
from jobman_core.models.zone import Zone

#: What is going is neither of use nor dead: it is left to go.
_GOING: Final = (SlicePhase.LOSING, SlicePhase.DELETING)


@attrs.frozen
class Booked:
    """A job, as the books have it."""

    #: It is wanted running, or somebody drives it: whatever becomes of its slice is theirs to do.
    attended: bool
    #: All that it ever asked for, by generation.
    slices: Mapping[int, Slice] = attrs.field(factory=dict)


@attrs.frozen
class Books:
    """What a home knows of the things that carry its label. Read after they were listed."""

    #: The home's id.
    home: str
    #: When the lists were asked for: what was seen to be gone since then may stand in them still.
    asked: datetime
    #: Those of its jobs that are named on what was listed; others it does not have.
    jobs: Mapping[str, Booked] = attrs.field(factory=dict)
    #: Ids that it had before.
    lost_homes: frozenset[str] = frozenset()


@attrs.frozen
class Finding:
    """What one look shows of something that is of no use any more."""

    #: For people, to be read after its name.
    why: str
    #: This home made it.
    ours: bool
    #: The generation of its job that is to be given back by the books: they still have it.
    booked: int | None = None


@attrs.frozen
class Sighting:
    """What earlier looks said of something that was of no use in all of them."""

    #: Of the first of them.
    since: datetime
    #: Its end was asked for.
    asked: bool = False

    def again(self, now: datetime) -> "Sighting":
        """Give what is known after one more look.

        A wall clock that was set back makes nothing older than it is: the wait begins anew.
        """
        return self if self.since <= now else attrs.evolve(self, since=now)

    def to_data(self) -> Mapping[str, Any]:
        """Write it as a store remembers it."""
        return {"since": self.since.isoformat(), "asked": self.asked}

    @classmethod
    def of_data(cls, data: Mapping[str, Any]) -> "Sighting":
        """Read it back."""
        return cls(datetime.fromisoformat(data["since"]), data["asked"])


def key_of(zone: Zone, listed: Listed) -> str:
    """Say what looks at one thing are remembered by: another one of its name is another thing."""
    return f"{prefix_of(zone)}{listed.name}/{listed.uid}"


def prefix_of(zone: Zone) -> str:
    """Say what the keys of all things of a zone begin with."""
    return f"{zone.cloud}/{zone.project}/{zone.name}/"


def words_of(zone: Zone) -> str:
    """Name a zone for people."""
    return f"{zone.name} of project {zone.project}" if zone.project else zone.name


@attrs.frozen
class Look:
    """A whole list of a zone, or why there is none."""

    zone: Zone
    listed: Sequence[Listed] = ()
    why: str = ""


@attrs.frozen
class Found:
    """Something of no use, and what is known of it."""

    zone: Zone
    listed: Listed
    finding: Finding
    sighting: Sighting
    fate: Fate
    #: From when on it may be deleted, as far as looks go.
    due: datetime
    #: Its job, where this home has that.
    job: str | None = None
    #: Why it was to be deleted, and was not.
    trouble: str = ""

    @property
    def key(self) -> str:
        """What it is remembered by."""
        return key_of(self.zone, self.listed)

    @property
    def told(self) -> Dead:
        """What people are told of it."""
        labels = self.listed.observation.labels
        return Dead(
            cloud=self.zone.cloud,
            project=self.zone.project,
            zone=self.zone.name,
            name=self.listed.name,
            state=self.listed.observation.state,
            why=self.finding.why,
            ours=self.finding.ours,
            fate=self.fate,
            since=self.sighting.since,
            owner=labels.get("jobman-owner"),
            job=labels.get("jobman-job"),
            trouble=self.trouble,
            due=self.due if self.fate is Fate.NOTED else None,
        )

    @property
    def text(self) -> str:
        """What it was, whose, and why it was deleted: one line for people."""
        listed, labels = self.listed, self.listed.observation.labels
        what = f"{listed.accelerator} in {words_of(self.zone)}".strip()
        job, owner = labels.get("jobman-job"), labels.get("jobman-owner")
        whose = f", of {owner}" if owner else ""
        whose += f", job {job}" if job else ""
        return f"deleted {listed.name} ({what}{whose}): {self.finding.why}"


def is_dead(listed: Listed) -> bool:
    """Tell whether nothing runs there any more, nor ever will, though it holds quota.

    Nodes that are PREEMPTED, TERMINATED or STOPPED; queued resources that are SUSPENDED or FAILED,
    or ACTIVE with a node that is gone. One that FAILED and whose node still stands is not.
    """
    return listed.observation.phase is SlicePhase.LOST


def is_going(listed: Listed) -> bool:
    """Tell whether it is on its way out by itself, so that a look says nothing new."""
    return listed.observation.phase in _GOING


def judge(listed: Listed, books: Books) -> Finding | None:
    """Say why something is of no use any more; None: it is of some, or somebody waits for it.

    Args:
        listed: as a whole list of its zone has it; of half a list nothing follows.
        books: what this home knows.
    """
    if is_going(listed):
        return None
    labels, dead = listed.observation.labels, _why_dead(listed)
    home, job = labels.get("jobman-home"), labels.get("jobman-job")
    if home in books.lost_homes:
        return Finding("its home's database was lost", ours=True)
    if home != books.home:
        # What lives of others is theirs, whoever has lost sight of it.
        return Finding(dead, ours=False) if dead else None
    if job is None or not (job.isascii() and job.isdigit()):
        # What is kept alive, and what somebody labelled by hand: no books would know it.
        return Finding(dead, ours=True) if dead else None
    booked = books.jobs.get(job)
    if booked is None:
        return Finding(f"its job {job} is not on the books of this home", ours=True)
    word = labels.get("jobman-generation", "")
    generation = int(word) if word.isdecimal() else None
    slice_ = booked.slices.get(generation) if generation is not None else None
    if slice_ is None or not slice_.held:
        # Labels are lost or changed by hand more easily than names, which carry the generation.
        slice_ = next(filter(partial(_is_called, listed), booked.slices.values()), slice_)
    if slice_ is not None and slice_.held:
        return _held(slice_, dead, attended=booked.attended)
    if slice_ is not None and slice_.gone_at is not None and slice_.gone_at >= books.asked:
        return None
    newest = max(booked.slices, default=0)
    if booked.attended and (generation is None or generation > newest):
        # The books are older than it is, and whoever drives the job takes it over.
        return None
    had = "has given it back" if slice_ is not None else "knows nothing of it"
    return Finding(f"its job {job} {had}", ours=True)


def _is_called(listed: Listed, slice_: Slice) -> bool:
    """Tell whether something has the name of a slice that the books still have."""
    known = slice_.identity
    return slice_.held and (known.name, known.zone) == (listed.name, listed.zone)


def _held(slice_: Slice, dead: str, *, attended: bool) -> Finding | None:
    """Say what is to be done with what the books have: nothing where somebody sees to it."""
    if attended or not (dead or slice_.withdrawn):
        return None
    why = dead or f"its job {slice_.job} gives it back, and nobody has seen to that yet"
    return Finding(why, ours=True, booked=slice_.generation)


def _why_dead(listed: Listed) -> str:
    """Give the reason to call something dead; empty: it is not."""
    if not is_dead(listed):
        return ""
    seen = listed.observation
    return f"it is {seen.state}" + (f": {seen.detail}" if seen.detail else "")


def fate_of(
    name: str,
    finding: Finding,
    before: Sighting | None,
    now: datetime,
    rules: ReapRules,
) -> Fate | None:
    """Say what may become of something of no use; DUE: it may be deleted now.

    None: nobody wants to hear of it.

    Args:
        name: what its cloud calls it.
        finding: what this look says.
        before: what the looks before it said; None: there was none, or it was of use.
        now: the time of this look.
        rules: of the lab.
    """
    if _fits(name, rules.ignore):
        return None
    if _fits(name, rules.keep):
        return Fate.KEPT
    if before is None or now - before.since < timedelta(seconds=rules.grace):
        return Fate.NOTED
    return Fate.DUE if finding.ours or rules.all else Fate.REPORTED


def found_in(
    look: Look, books: Books, known: Mapping[str, Sighting], now: datetime, rules: ReapRules
) -> Iterator[Found]:
    """Give what is of no use in a zone, and is not to be passed over in silence."""
    for listed in look.listed:
        finding = judge(listed, books)
        if finding is None:
            continue
        before = known.get(key_of(look.zone, listed))
        fate = fate_of(listed.name, finding, before, now, rules)
        if fate is None:
            continue
        sighting = before.again(now) if before else Sighting(now)
        job = listed.observation.labels.get("jobman-job")
        yield Found(
            look.zone,
            listed,
            finding,
            sighting,
            fate,
            due=sighting.since + timedelta(seconds=rules.grace),
            job=job if finding.ours and job in books.jobs else None,
        )


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
