"""Slices: what is asked of a cloud, what a look at it shows, and what the store remembers."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import attrs

from jobman_core.errors import CloudError
from jobman_core.models.accelerator import Accelerator


@attrs.frozen
class SliceRequest:
    """One place and way to get a slice."""

    cloud: str
    accelerator: str
    zone: str
    #: ``spot``, ``preemptible`` or ``ondemand``.
    pricing: str = "ondemand"
    #: ``tpu-vm`` or ``queued-resources``; clouds that know no such thing pass over it.
    mode: str = "tpu-vm"
    runtime: str = ""
    #: Public SSH keys to let in, each as ``USER:KEY``: of whoever asks now, and not remembered.
    public_keys: tuple[str, ...] = attrs.field(default=(), eq=False)
    #: The rest of the ``tpu`` section, which the cloud's own ``Config`` gives its shape. It may
    #: hold secrets: a store keeps no more of it than who pays, the rest stands in the job's file.
    options: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def hosts(self) -> int:
        """How many hosts to plan for."""
        return Accelerator.parse(self.accelerator).hosts

    def among(self, others: Sequence["SliceRequest"]) -> int | None:
        """Give the index of the one that asks for the same, with whatever options; None: none."""
        places = [attrs.evolve(other, options={}) for other in others]
        place = attrs.evolve(self, options={})
        return places.index(place) if place in places else None


@attrs.frozen
class SliceIdentity:
    """Whose a slice is: its name at the cloud and the labels that say so."""

    #: The cloud's own name; carries the generation, so that a late delete only hits its own.
    name: str
    zone: str
    home: str
    owner: str
    job: str
    generation: int
    #: The account that pays, where its cloud has several; empty: the one that is usual there.
    project: str = ""

    @property
    def labels(self) -> dict[str, str]:
        """What is written on the slice, and must match before it is adopted."""
        return {
            "jobman-home": self.home,
            "jobman-owner": self.owner,
            "jobman-job": self.job,
            "jobman-generation": str(self.generation),
        }

    @classmethod
    def from_labels(
        cls, name: str, zone: str, labels: Mapping[str, str], project: str = ""
    ) -> "SliceIdentity | None":
        """Read off a slice what was written on it; None: not by jobman, or not all of it."""
        home, owner = labels.get("jobman-home"), labels.get("jobman-owner")
        job, generation = labels.get("jobman-job"), labels.get("jobman-generation", "")
        if home is None or owner is None or job is None or not generation.isdecimal():
            return None
        return cls(name, zone, home, owner, job, int(generation), project)


class SlicePhase(StrEnum):
    """What a slice's state means to a job, whatever its cloud calls the state."""

    #: Asked for; not usable yet.
    PENDING = "pending"
    READY = "ready"
    #: Its capacity is lost, but programs may still run on it (SUSPENDING): they are asked to end,
    #: and nothing of it is deleted before it is LOST.
    LOSING = "losing"
    #: Nothing runs on it any more: proof of the end of every program.
    LOST = "lost"
    #: A delete is under way: not yet proof of anything.
    DELETING = "deleting"


@attrs.frozen
class HostInfo:
    """One machine of a slice, as the cloud tells of it."""

    index: int
    #: What people reach it by.
    ip: str | None = None
    #: What the other hosts of its slice reach it by; None: the same.
    internal_ip: str | None = None


@attrs.frozen
class Present:
    """The cloud says that the slice is there."""

    phase: SlicePhase
    #: The cloud's own word, as people know it: READY, PREEMPTED, WAITING_FOR_RESOURCES.
    state: str
    hosts: tuple[HostInfo, ...] = ()
    labels: Mapping[str, str] = attrs.field(factory=dict)
    #: What else people should know: why it waits, its health, maintenance to come.
    detail: str = ""
    #: Why the request came to nothing, where what is left of it has to be deleted; of a slice that
    #: was ready once it says nothing more than LOST.
    refusal: CloudError | None = None

    def is_of(self, identity: SliceIdentity) -> bool:
        """Tell whether its labels say that it is this slice.

        The owner's name is left out: a cloud may have had to cut it.
        """
        ours = identity.labels
        del ours["jobman-owner"]
        return all(self.labels.get(key) == value for key, value in ours.items())


@attrs.frozen
class Absent:
    """The cloud says that there is no such slice: proof that nothing runs on it."""

    #: Why the request came to nothing, where the cloud says so.
    refusal: CloudError | None = None


@attrs.frozen
class Unknown:
    """The cloud did not answer: never a reason to delete, release or retry anything."""

    why: str = ""


#: The three things that a look at a cloud can show.
Observation = Present | Absent | Unknown


#: How a slice stands on the books that its cloud does not know any more.
GONE: Final = "ABSENT"
#: How a slice stands on the books until its cloud has said a word of its own.
ASKED: Final = "REQUESTED"


@attrs.frozen
class Slice:
    """One generation of a job's slice, as the store has it."""

    job: str
    generation: int
    request: SliceRequest
    identity: SliceIdentity
    requested_at: datetime
    #: The cloud's last known word.
    state: str = ASKED
    phase: SlicePhase = SlicePhase.PENDING
    hosts: tuple[HostInfo, ...] = ()
    detail: str = ""
    ready_at: datetime | None = None
    #: When it was seen to be lost.
    lost_at: datetime | None = None
    #: Its job does not want it any more; on the books until it is confirmed absent.
    withdrawn: bool = False
    #: When it was confirmed absent.
    gone_at: datetime | None = None

    @property
    def held(self) -> bool:
        """Tell whether it may still exist at the cloud."""
        return self.gone_at is None

    @property
    def costs(self) -> bool:
        """Tell whether it is paid for while it stands."""
        return self.held and self.phase is SlicePhase.READY


@attrs.frozen
class Offer:
    """What a slice *is*, for a task to be matched with; never what a file says it should be."""

    accelerator: str
    zone: str
    hosts: int

    @classmethod
    def of(cls, slice_: Slice) -> "Offer":
        """Read it off a slice that is ready."""
        return cls(
            Accelerator.parse(slice_.request.accelerator).name,
            slice_.request.zone,
            len(slice_.hosts),
        )
