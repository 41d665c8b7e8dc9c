"""Job files that are to be run: their faults, and the keys and storages that they name."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import attrs

from jobman_core.config.identities import WITHOUT_SSH
from jobman_core.config.job import JobFile
from jobman_core.config.surroundings import Surroundings
from jobman_core.create import ask_storages, check_job_file
from jobman_core.doctor.asking import ask, ask_all
from jobman_core.doctor.keys import key_of
from jobman_core.models.checkup import Checkup
from jobman_core.models.job import JobSpec
from jobman_core.ssh import Access, Links


@attrs.frozen
class Read:
    """A job file as it was read."""

    path: Path
    checkups: tuple[Checkup, ...]
    #: None: it has faults.
    file: JobFile | None = None

    @property
    def spec(self) -> JobSpec | None:
        """What it asks for."""
        return None if self.file is None else self.file.checked


async def read_file(path: Path, around: Surroundings) -> Read:
    """Read one file; its faults are check-ups."""
    file: JobFile | None = None

    async def look() -> Sequence[Checkup]:
        nonlocal file
        file = await asyncio.to_thread(check_job_file, path, around)
        return [
            Checkup.well("job file", "it has no faults"),
            *(Checkup.well("note", note) for note in file.notes),
        ]

    return Read(path, tuple(await ask("job file", look())), file)


async def needs(
    read: Read, around: Surroundings, links: Links, *, offline: bool
) -> Sequence[Checkup]:
    """Look at what a file needs besides its cloud."""
    if read.file is None or read.spec is None:
        return read.checkups
    more = await ask_all(
        ("ssh.private_key", _key(read.spec, links)),
        ("storage", _storages(read.file, around, offline=offline)),
    )
    return [*read.checkups, *more]


async def _key(spec: JobSpec, links: Links) -> Checkup | None:
    path = Access.of_job("", spec).private_key
    if all(place.cloud == WITHOUT_SSH for place in spec.candidates):
        return None
    return await key_of(path, links)


async def _storages(file: JobFile, around: Surroundings, *, offline: bool) -> Sequence[Checkup]:
    named = [name for name in file.checked.sections if around.plugins.has("storage", name)]
    if not named:
        return []
    if offline:
        return [Checkup.unknown(name, "not asked, since --offline was given") for name in named]
    asked = await ask_storages(file, around)
    doubts = asked.notes[len(file.notes) :]
    if doubts:
        return [Checkup.doubt("storage", note) for note in doubts]
    return [Checkup.well(name, "what the file says of it is so") for name in named]
