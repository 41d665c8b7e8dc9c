"""What is dead at a cloud, and what becomes of it."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Final

import attrs

#: What stands in the job's label of a slice that is kept alive, and belongs to no job.
KEPT: Final = "kept"


class Fate(StrEnum):
    """What becomes of something dead."""

    #: Seen just now, or not long enough ago: the next looks tell.
    NOTED = "noted"
    #: A dry run: it would have been deleted.
    DUE = "due"
    DELETED = "deleted"
    #: This home did not make it: people are told, and nothing is done.
    REPORTED = "reported"
    #: A pattern says that it is to be kept.
    KEPT = "kept"
    #: It was to be deleted, and the cloud did not do it.
    REFUSED = "refused"


def _triples(places: Iterable[Iterable[str]]) -> tuple[tuple[str, str, str], ...]:
    return tuple((cloud, project, zone) for cloud, project, zone in places)


def _texts(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(words)


@attrs.frozen
class ReapRules:
    """What a reaper may do: the ``reap`` section of ``jobman.yaml``."""

    #: Zones that are looked at besides those where this home has had slices, each with its cloud
    #: and project: ``gcp``, ``my-project`` and ``us-central1-b`` (empty: the account's project).
    places: tuple[tuple[str, str, str], ...] = attrs.field(default=(), converter=_triples)
    #: Seconds between the first look that says dead and the one that may delete.
    grace: float = 900.0
    #: What this home did not make is deleted too.
    all: bool = False
    #: Names (with ``*`` and ``?``) that are never deleted, and those that are not even told of.
    keep: tuple[str, ...] = attrs.field(default=(), converter=_texts)
    ignore: tuple[str, ...] = attrs.field(default=(), converter=_texts)
    #: Ids that this home had before its database was lost: nothing of theirs is on any books.
    lost_homes: tuple[str, ...] = attrs.field(default=(), converter=_texts)


@attrs.frozen
class Dead:
    """Something at a cloud that is of no use any more."""

    cloud: str
    project: str
    zone: str
    name: str
    #: The cloud's own word.
    state: str
    #: Why it is taken for dead, for people.
    why: str
    #: It carries this home's label.
    ours: bool
    fate: Fate
    #: When it was seen so first.
    since: datetime
    #: As its labels say.
    owner: str | None = None
    job: str | None = None
    #: Why it was refused.
    trouble: str = ""
    #: Of what is only noted: from when on it may be deleted, or is told of.
    due: datetime | None = None


@attrs.frozen
class Reaped:
    """What a reaper saw and did."""

    found: tuple[Dead, ...]
    #: Zones that could not be looked at, each with the reason: nothing was done there.
    unseen: tuple[tuple[str, str], ...] = ()
    #: Zones that were looked at.
    looked: tuple[str, ...] = ()


@attrs.frozen
class KeptSlice:
    """A slice that is asked for again whenever it dies."""

    name: str
    accelerator: str
    zone: str
    cloud: str = "gcp"
    project: str = ""
    pricing: str = "spot"
    mode: str = "queued-resources"
    runtime: str = ""
