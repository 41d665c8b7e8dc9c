"""The local cloud: a slice is some folders on this machine, each a host with a HOME of its own."""

import asyncio
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Final

import attrs

from jobman_core.builtin.local import slices
from jobman_core.builtin.local.host import LocalHost
from jobman_core.builtin.local.slices import Facts, Folder
from jobman_core.errors import (
    HeldError,
    InvalidInputError,
    NotYoursError,
    PermanentCloudError,
    StockoutError,
    TransientCloudError,
)
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context, Count, Duration, Problem
from jobman_core.interfaces.cloud import Cloud, Listed
from jobman_core.interfaces.host import Host
from jobman_core.models.accelerator import Accelerator
from jobman_core.models.slice import (
    Absent,
    HostInfo,
    Observation,
    Present,
    Slice,
    SliceIdentity,
    SlicePhase,
    SliceRequest,
    Unknown,
)

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_ADDRESS: Final = "127.0.0.1"


@attrs.frozen
class LocalSettings:
    """``clouds.local``: how this machine plays a cloud."""

    #: How many slices may exist at once, by zone; a zone that is not here has no limit.
    capacity: Mapping[str, Count] = attrs.field(factory=dict)
    #: From the request until a slice is ready.
    provisioning: Duration = Duration(0.2)
    #: The zones that there are; none: any name is one.
    zones: Sequence[str] = ()


class LocalCloud(Cloud):
    """Slices on this machine, for trying things out and for one big workstation."""

    name = "local"
    Settings = LocalSettings
    default_zone: ClassVar[str] = "local"
    #: A look is one small file.
    look_every: ClassVar[float] = 2.0
    #: A request dies with the process that makes it.
    on_the_wire: ClassVar[float] = 0.0

    def __init__(self, context: Context) -> None:
        """Take the settings; nothing is touched yet."""
        super().__init__(context)
        self._settings = LocalSettings(**context.settings)
        self._folder = Folder(Home(context.home.absolute()).state / "local")

    def check(self, request: SliceRequest) -> Iterable[Problem]:
        """Say that a zone does not exist."""
        zones = self._settings.zones
        if zones and request.zone not in zones:
            yield Problem("zone", f"no local zone {request.zone!r}: use one of {', '.join(zones)}")

    async def create(self, identity: SliceIdentity, request: SliceRequest) -> None:
        """Make the folders of a slice; it is ready after the provisioning delay.

        Raises:
            StockoutError: the zone's capacity is used up.
            PermanentCloudError: a name, zone or accelerator that there cannot be.
            HeldError: a slice of that name exists with labels that are not ours.
        """
        _check_name(identity.name)
        for problem in self.check(request):
            raise PermanentCloudError(problem.message)
        try:
            hosts = Accelerator.parse(request.accelerator).hosts
        except ValueError as error:
            raise PermanentCloudError(str(error)) from error
        now = self.context.clock.now().timestamp()
        facts = Facts(
            zone=request.zone,
            accelerator=request.accelerator,
            hosts=hosts,
            labels=identity.labels,
            asked_at=now,
            ready_at=now + self._settings.provisioning,
        )
        await asyncio.to_thread(self._create, identity, facts)

    async def observe(self, identity: SliceIdentity) -> Observation:
        """Look at a slice, and finish taking it away if whoever began that was killed."""
        try:
            facts = self._read(identity)
            if facts is not None and facts.state == slices.PREEMPTING:
                facts = await asyncio.to_thread(
                    self._folder.take_away, identity.name, slices.PREEMPTING
                )
        except (TransientCloudError, NotYoursError) as error:
            return Unknown(str(error))
        return Absent() if facts is None else self._present(facts)

    async def delete(self, identity: SliceIdentity) -> None:
        """End every process of a slice and remove its folder; returns once it is absent.

        Raises:
            HeldError: the slice of that name has labels that are not ours.
            NotYoursError: another account's process made it.
            TransientCloudError: processes of it cannot be ended.
        """
        facts = self._read(identity)
        if facts is not None:
            _check_labels(identity, facts)
            await asyncio.to_thread(self._folder.remove, identity.name)
        elif self._folder.root.is_dir():
            await asyncio.to_thread(self._folder.sweep)

    async def zones(self, project: str = "") -> Sequence[str]:
        """Give the one that job files need not name."""
        del project
        return (self.default_zone,)

    async def list_slices(self, zone: str, project: str = "") -> Sequence[Listed]:
        """List the slices of a zone; one that cannot be read is left out."""
        del project  # This machine has but one.
        found = []
        for name in self._folder.names():
            try:
                facts = self._folder.read(name)
            except TransientCloudError:
                continue  # observe says of it that it is unknown
            if facts is not None and facts.zone == zone:
                seen, uid = self._present(facts), str(facts.asked_at)
                found.append(Listed(name, zone, seen, uid, facts.accelerator, "ondemand"))
        return found

    def hosts(self, slice_: Slice) -> Sequence[Host]:
        """Give the hosts of a slice."""
        count = len(slice_.hosts) or slice_.request.hosts
        self._folder.forget_ended(slice_.identity.name)
        folder = self._folder.root / slice_.identity.name
        return [LocalHost(index, folder, os.environ) for index in range(count)]

    async def preempt(self, identity: SliceIdentity) -> None:
        """Take a slice away: when this returns, every process of it is gone.

        Raises:
            HeldError: the slice of that name has labels that are not ours.
            NotYoursError: another account's process made it.
            TransientCloudError: processes of it cannot be ended.
        """
        facts = self._read(identity)
        if facts is None:
            raise InvalidInputError(f"no local slice {identity.name}: nothing to preempt")
        _check_labels(identity, facts)
        await asyncio.to_thread(self._folder.take_away, identity.name, slices.PREEMPTING)

    def _read(self, identity: SliceIdentity) -> Facts | None:
        _check_name(identity.name)
        return self._folder.read(identity.name)

    def _create(self, identity: SliceIdentity, facts: Facts) -> None:
        with self._folder.locked():
            self._folder.sweep()
            standing = self._folder.read(identity.name)
            if standing is not None:
                _check_labels(identity, standing)
                return
            self._check_capacity(facts.zone)
            self._folder.make(identity.name, facts)

    def _check_capacity(self, zone: str) -> None:
        limit = self._settings.capacity.get(zone)
        if limit is None:
            return
        holders = [
            name
            for name in self._folder.names()
            if (other := self._folder.read(name)) is not None
            and other.zone == zone
            and other.state != slices.PREEMPTED
        ]
        if len(holders) >= limit:
            who = f"held by {', '.join(holders)}" if holders else "its capacity is 0"
            raise StockoutError(
                f"no capacity in local zone {zone!r} ({who}): wait for one to be given back, "
                f"take another zone, or raise clouds.local.capacity in jobman.yaml"
            )

    def _present(self, facts: Facts) -> Present:
        hosts = tuple(HostInfo(index, _ADDRESS) for index in range(facts.hosts))
        match facts.state:
            case slices.PREEMPTED:
                return Present(SlicePhase.LOST, "PREEMPTED", labels=facts.labels)
            case slices.PREEMPTING:
                return Present(SlicePhase.LOSING, "PREEMPTING", labels=facts.labels)
            case slices.DELETING:
                return Present(SlicePhase.DELETING, "DELETING", labels=facts.labels)
        if facts.ready(self.context.clock.now().timestamp()):
            return Present(SlicePhase.READY, "READY", hosts, facts.labels)
        return Present(SlicePhase.PENDING, "CREATING", labels=facts.labels)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise PermanentCloudError(
            f"{name!r} cannot name a local slice: use letters, digits, '-', '_' and '.'"
        )


def _check_labels(identity: SliceIdentity, facts: Facts) -> None:
    if dict(facts.labels) != identity.labels:
        owner = facts.labels.get("jobman-owner", "nobody")
        job = facts.labels.get("jobman-job", "none")
        raise HeldError(
            f"local slice {identity.name} belongs to {owner} (job {job}): choose another tpu.name"
        )
