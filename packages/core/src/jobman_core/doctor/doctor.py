"""What is looked at, all at once, and who is asked."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

import attrs

from jobman_core.backends import Backends
from jobman_core.clock import Clock
from jobman_core.config.identities import WITHOUT_SSH
from jobman_core.config.places import DEFAULT_CLOUD
from jobman_core.config.surroundings import Surroundings
from jobman_core.doctor.asking import Found, ask
from jobman_core.doctor.files import Read, needs, read_file
from jobman_core.doctor.home import home
from jobman_core.doctor.jobs import jobs
from jobman_core.doctor.keys import ssh
from jobman_core.doctor.machine import machine
from jobman_core.doctor.plugins import Installed, judge_plugins
from jobman_core.home import Home
from jobman_core.hub import Hub
from jobman_core.interfaces.backend import Backend, Scope
from jobman_core.interfaces.store import JobRecord, Store
from jobman_core.models.checkup import Checkup, Examined, Health
from jobman_core.models.job import JobSpec
from jobman_core.models.settings import Settings
from jobman_core.models.zone import Zone
from jobman_core.plugins import BUILTIN, Plugins
from jobman_core.ssh import Links
from jobman_core.territory import zones_of

#: In their order.
_MACHINE: Final = "This machine"
_HOME: Final = "This home"
_PLUGINS: Final = "Plugins"
_JOBS: Final = "Jobs"


@attrs.frozen
class Patient:
    """What is looked at, as far as it could be opened."""

    settings: Settings
    #: None: there is no home, or it cannot be opened.
    hub: Hub | None
    #: What opening it came to.
    checkups: tuple[Checkup, ...]
    files: tuple[Read, ...]
    records: tuple[JobRecord, ...] = ()
    zones: tuple[Zone, ...] = ()

    @property
    def specs(self) -> tuple[JobSpec, ...]:
        """What the files ask for that have no faults."""
        return tuple(read.spec for read in self.files if read.spec is not None)

    def wanted(self, kind: str) -> set[str]:
        """Give the names of backends of a kind that anything here is to be done with."""
        settings, specs = self.settings, self.specs
        match kind:
            case "cloud":
                places = (zone.cloud for zone in self.zones)
                asked = (place.cloud for spec in specs for place in spec.candidates)
                named = {settings.cloud, *places, *asked, *(r.job.cloud for r in self.records)}
                return _names(named) or {DEFAULT_CLOUD}
            case "session":
                asked_ = (spec.session for spec in specs)
                return _names({settings.session, *asked_, *(r.job.session for r in self.records)})
            case "environment":
                return _names(spec.env_type for spec in specs)
            case "storage":
                return {name for spec in specs for name in spec.sections}
            case _:
                return set(settings.backends.get(f"{kind}s", ()))


@attrs.frozen
class Doctor:
    """Looks at a machine, a home, and the accounts that they have to do with."""

    home: Home
    user: str
    clock: Clock
    plugins: Plugins
    store: Store
    load_settings: Callable[[], Settings]
    #: Opens the home.
    open_home: Callable[[], Awaitable[Hub]]
    links: Links = attrs.field(factory=Links)

    async def examine(
        self, paths: Sequence[Path] = (), more: Sequence[Installed] = (), *, offline: bool
    ) -> Sequence[Examined]:
        """Look at everything; what is in order is told as well.

        Args:
            paths: job files that are to be run.
            more: plugins of a front end.
            offline: nothing of a network is asked.
        """
        patient = await self._admit(paths, offline=offline)
        around = Surroundings(self.home, self.plugins, patient.settings, clock=self.clock)
        backends = (
            patient.hub.backends
            if patient.hub
            else Backends(self.plugins, self.home.root, "", self.clock, patient.settings)
        )
        scope = Scope(
            offline=offline,
            project=patient.settings.project,
            zones=patient.zones,
            specs=patient.specs,
        )
        asked: list[tuple[str, Awaitable[Found]]] = [
            (_MACHINE, machine(self.user)),
            (_MACHINE, ssh(self.links, needed=patient.wanted("cloud") != {WITHOUT_SSH})),
            (_HOME, home(self.home, self.clock.now().timestamp())),
            (_HOME, _given(patient.checkups)),
            (_PLUGINS, self._plugins(more)),
            *self._backends(patient, backends, scope),
            *([(_JOBS, jobs(patient.hub, offline=offline))] if patient.hub else []),
            *(
                (str(read.path), needs(read, around, self.links, offline=offline))
                for read in patient.files
            ),
        ]
        try:
            found = await asyncio.gather(*(ask(group.lower(), each) for group, each in asked))
        finally:
            await backends.aclose()
        return _grouped((group, each) for (group, _), each in zip(asked, found, strict=True))

    async def _admit(self, paths: Sequence[Path], *, offline: bool) -> Patient:
        """Read settings and files, and open the home if it can be."""
        settings = Settings()

        async def read() -> Checkup:
            nonlocal settings
            settings = await asyncio.to_thread(self.load_settings)
            return Checkup.well("settings", "they have no faults")

        checkups = [*await ask("settings", read())]
        around = Surroundings(self.home, self.plugins, settings, clock=self.clock)
        files = tuple([await read_file(path, around) for path in paths])
        patient = Patient(settings, None, tuple(checkups), files)
        if not _is_there(self.home.state):
            return patient
        checkups += await ask("database", self.store.checkups(Scope(wanted=True)))
        bad = [each for each in checkups if each.health is Health.BROKEN]
        if bad:
            told = f"not looked at, since the home cannot be opened: {bad[0].name}"
            checkups.append(Checkup.unknown("jobs", told))
            return attrs.evolve(patient, checkups=tuple(checkups))

        async def open_() -> None:
            nonlocal patient
            hub = await self.open_home()
            records = tuple(await hub.store.records())
            # Whose account a zone is in that names none, only its cloud can say.
            zones = () if offline else tuple(await zones_of(hub))
            patient = attrs.evolve(patient, hub=hub, records=records, zones=zones)

        checkups += await ask("opening it", open_())
        return attrs.evolve(patient, checkups=tuple(checkups))

    async def _plugins(self, more: Sequence[Installed]) -> Sequence[Checkup]:
        rows = await asyncio.to_thread(self.plugins.rows)
        return judge_plugins([*rows, *more], version(BUILTIN))

    def _backends(
        self, patient: Patient, backends: Backends, scope: Scope
    ) -> Iterable[tuple[str, Awaitable[Found]]]:
        """Ask all sessions, and of the other backends those that there is a use for."""
        for kind in ("session", "environment", "storage", "notifier", "cloud"):
            wanted = patient.wanted(kind)
            have = set(self.plugins.names(kind))
            names = have | wanted if kind == "session" else wanted
            if kind == "storage":
                # Sections of a job file may be anybody's.
                names &= have
            for name in sorted(names):
                about = attrs.evolve(scope, wanted=name in wanted)
                yield _title(kind, name), _asked(backends, kind, name, about)


async def _asked(backends: Backends, kind: str, name: str, scope: Scope) -> Sequence[Checkup]:
    """Ask one backend; one that is not installed, or cannot be made, says so by its error."""
    found: Backend = backends.any(kind, name)
    return await found.checkups(scope)


def _is_there(folder: Path) -> bool:
    try:
        return folder.is_dir()
    except OSError:
        # Whoever looks at the home itself says why.
        return False


async def _given(checkups: Sequence[Checkup]) -> Sequence[Checkup]:
    return checkups


def _title(kind: str, name: str) -> str:
    """Name the group of a backend's check-ups."""
    return {"session": "Sessions", "notifier": "Notices"}.get(kind) or f"{kind.title()} {name}"


def _names(named: Iterable[str | None]) -> set[str]:
    return {name for name in named if name}


def _grouped(found: Iterable[tuple[str, Sequence[Checkup]]]) -> Sequence[Examined]:
    groups: dict[str, list[Checkup]] = {}
    for group, checkups in found:
        if checkups:
            groups.setdefault(group, []).extend(checkups)
    return [Examined(group, tuple(checkups)) for group, checkups in groups.items()]
