"""What a job's owner changed in its ``config.yaml`` since the job was last started."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from jobman_core.errors import CommandFailedError, ConfigError, InvalidInputError, NotFoundError
from jobman_core.files import digest, put
from jobman_core.hub import Hub
from jobman_core.interfaces.store import JobDraft, JobRecord, Note
from jobman_core.models.job import CommandMode, Job, JobSpec, QueueMode, WorkMode
from jobman_core.models.slice import Slice, SliceRequest
from jobman_core.origin import Origin

if TYPE_CHECKING:
    from jobman_core.config.job import JobFile
    from jobman_core.config.source import Source


@attrs.frozen
class Change:
    """What a job is to be from its next start on."""

    draft: JobDraft
    file: "JobFile"
    #: Of the job's file, where that says so already (SHA-256, hex).
    spec_hash: str
    #: What the job runs then, for people.
    runs: str
    #: Why the slice that the job has is not what the file asks for; empty: it is, or there is none.
    misfit: str = ""
    #: It is the file that the job was created from, which becomes the job's own.
    reload: bool = False
    #: Keys of the job's file that its owner edited, and whose values go with that.
    lost: tuple[str, ...] = ()
    #: What the user should know, a line each.
    notes: tuple[str, ...] = ()

    @property
    def losses(self) -> Sequence[str]:
        """What the job loses by it, each to be read after the job's id."""
        losses = [f"gives its slice back, as {self.misfit}"] if self.misfit else []
        if self.lost:
            losses.append(f"loses what was edited in its config.yaml: {', '.join(self.lost)}")
        return losses

    @property
    def unasked(self) -> Sequence[str]:
        """What the user should know where nobody was asked, and the job loses nothing."""
        kept = f"it keeps its slice until that is lost, though {self.misfit}"
        return [*self.notes, kept] if self.misfit else self.notes


class Edits:
    """Reads what was changed, and lets it count."""

    def __init__(self, hub: Hub) -> None:
        """Keep the home."""
        self._hub = hub

    async def read(self, record: JobRecord, *, reload: bool = False) -> Change | None:
        """Check what was changed, before anything is done about it; None: nothing was.

        Args:
            record: the job.
            reload: it shall be what the file says now that it was created from.

        Raises:
            ConfigError: the file has faults, or its tasks file.
            InvalidInputError: it is not known which file that was, or it is not there any more.
            NotFoundError: the job's own file is not there any more.
        """
        if reload:
            return await self._reload(record)
        job = record.job
        spec_hash = self.hash_of_edited(job)
        if spec_hash is None:
            return None
        # Only when a snapshot was edited: YAML is too slow to import for every command.
        from jobman_core.config.job import read_snapshot

        path = self._hub.home.config(job.user, job.id)
        file = read_snapshot(path, self._hub.surroundings(), job.name)
        await asyncio.to_thread(self._check_code, job, file)
        return await self._change(record, file, file.spec(), spec_hash)

    async def _reload(self, record: JobRecord) -> Change:
        from jobman_core.create import check_job_file

        hub, job = self._hub, record.job
        hub.hold(job)
        config = hub.home.config(job.user, job.id)
        origin = Origin.read(hub.home.origin(job.user, job.id))
        if origin is None:
            msg = f"nobody knows what file job {job.id} was created from: edit {config}"
            raise InvalidInputError(msg)
        if not origin.path.exists():
            gone = f"{origin.path}, which job {job.id} was created from, is not there any more"
            raise InvalidInputError(f"{gone}: put it back, or edit {config} and leave out --reload")
        file = await asyncio.to_thread(check_job_file, origin.path, hub.surroundings())
        suffix = _suffix_of(job)
        keeps = f"job.name is passed over: the job keeps its name, {job.name}"
        change = await self._change(record, file, file.spec(suffix), "")
        return attrs.evolve(
            change,
            reload=True,
            lost=_lost(config, origin.snapshot, file.snapshot(suffix, job=job.name)),
            notes=(*change.notes, *([keeps] if file.base_name != job.base_name else ())),
        )

    def news(self, job: Job) -> Sequence[str]:
        """Say that the file has changed which a job was created from, if it has."""
        try:
            origin = Origin.read(self._hub.home.origin(job.user, job.id))
        except InvalidInputError as error:
            return [str(error)]
        if origin is None or not origin.changed():
            return []
        how = f"`jobman reboot {job.id} --reload` takes it in"
        return [f"{origin.path}, which it was created from, has changed since: {how}"]

    def hash_of_edited(self, job: Job) -> str | None:
        """Give the hash of a job's file; None: nobody has edited it since the last start.

        Raises:
            NotFoundError: it is not there any more.
        """
        self._hub.hold(job)
        path = self._hub.home.config(job.user, job.id)
        try:
            spec_hash = digest(path)
        except FileNotFoundError:
            msg = f"job {job.id} has no {path}: it was cleaned; create it anew"
            raise NotFoundError(msg) from None
        return None if spec_hash == job.spec_hash else spec_hash

    async def take_in(self, record: JobRecord, change: Change | None = None) -> JobRecord:
        """Let an edited file count from this start on, and give the job as it is then.

        Args:
            record: the job.
            change: what is known to be new; None: look.

        Raises:
            ConfigError: it has faults.
            InvalidInputError: the job still has a slice that only another cloud can give back.
        """
        hub, job = self._hub, record.job
        change = change or await self.read(record)
        if change is None:
            return record
        held = [s for s in (record.slice, *record.withdrawing) if s is not None and s.held]
        if held and change.draft.cloud != job.cloud:
            msg = (
                f"job {job.id} has slice {held[0].identity.name} of cloud {job.cloud!r}, and its "
                f"file says {change.draft.cloud!r} now: `jobman cancel {job.id}` gives it back"
            )
            raise InvalidInputError(msg)
        spec_hash = await self._write(job, change)
        if spec_hash == job.spec_hash:
            return record
        await hub.store.set_spec(job.id, change.draft, spec_hash=spec_hash)
        await hub.store.add_event(
            Note("job.edited", f"its edited file counts from now on: it {change.runs}"), job=job.id
        )
        return await hub.store.record(job.id)

    def _check_code(self, job: Job, file: "JobFile") -> None:
        """Raise ConfigError where the code of an edited snapshot is not to be had."""
        from jobman_core.packing import kept, list_folder

        code = file.code
        if code is None:
            return
        try:
            if code.snapshot is None:
                list_folder(code)
            else:
                kept(self._hub.home.code(job.user, job.id), code)
        except InvalidInputError as error:
            raise ConfigError([file.fault(("code", "path"), str(error))]) from error

    async def _write(self, job: Job, change: Change) -> str:
        """Write what the job's file does not say yet: all of it, or what is packed of its code.

        Gives the hash of the file then.
        """
        from jobman_core.packing import list_folder, pack

        home, code, snapshot = self._hub.home, change.file.code, None
        if code is not None and code.snapshot is None:
            listing = await asyncio.to_thread(list_folder, code)
            archive = await asyncio.to_thread(pack, listing, home.code(job.user, job.id))
            snapshot = archive.snapshot
        if snapshot is None and not change.reload:
            return change.spec_hash
        text = change.file.snapshot(
            _suffix_of(job) if change.reload else None, job=job.name, code=snapshot
        )
        if change.reload:
            Origin.of(*change.file.origin, text).put(home.origin(job.user, job.id))
        path = home.config(job.user, job.id)
        put(path, text)
        return digest(path)

    def check_session(self, name: str) -> None:
        """Make sure that a session of a kind can be started.

        Raises:
            CommandFailedError: it cannot.
        """
        if missing := self._hub.backends.session(name).missing():
            raise CommandFailedError(missing)

    async def _change(
        self, record: JobRecord, file: "JobFile", spec: JobSpec, spec_hash: str
    ) -> Change:
        from jobman_core.create import ask_storages, draft_of

        job = record.job
        # What may be passed over is no reason to stop what was started with it.
        file = await ask_storages(file, self._hub.surroundings(), None)
        notes = list(file.notes)
        if file.worker_num not in (None, "auto", job.worker_num):
            keeps = f"number {job.worker_num}" if job.worker_num else "its name without one"
            notes.append(f"job.worker_num is passed over: the job keeps {keeps}")
        return Change(
            draft=await draft_of(self._hub, file, job.user),
            file=file,
            spec_hash=spec_hash,
            runs=_runs(spec.work),
            misfit=_misfit(record.slice, spec),
            notes=tuple(notes),
        )


def _suffix_of(job: Job) -> str:
    """Give what made a job's names unique."""
    return job.name.removeprefix(f"{job.base_name}_")


def _lost(config: Path, before: str, after: str) -> tuple[str, ...]:
    """Give the keys that were edited in a job's file, and have other values after.

    Args:
        config: the file.
        before: its text before anybody edited it.
        after: its text to be.
    """
    from jobman_core.config.source import parse_source, read_source

    if not config.exists():
        return ()
    try:
        edited = _values(read_source(config))
    except ConfigError:
        return ("all of it, which is no YAML now",)
    old, new = (_values(parse_source(text, config)) for text in (before, after))
    # What was packed of its code is no edit, and is packed anew.
    keys = dict.fromkeys(key for key in (*edited, *old) if key != "code.snapshot")
    return tuple(
        key for key in keys if edited.get(key) != old.get(key) and edited.get(key) != new.get(key)
    )


def _values(source: "Source") -> dict[str, str]:
    from jobman_core.config.nodes import dotted, scalars

    return {dotted(path): scalar.text for path, scalar in scalars(source.root)}


def _runs(work: WorkMode) -> str:
    match work:
        case QueueMode(config):
            return f"takes tasks of {config}"
        case CommandMode():
            return "runs its command"
        case _:
            return "holds its slice"


def _misfit(slice_: Slice | None, spec: JobSpec) -> str:
    """Say how a slice differs from all that a job asks for; one that is not ready goes anyway."""
    if slice_ is None or not slice_.costs:
        return ""
    has = slice_.request
    nearest = min((_differences(has, request) for request in spec.candidates), key=len)
    if not nearest:
        return ""
    asks = ", ".join(f"{name} {wanted or '-'}" for name, (_, wanted) in nearest.items())
    has_ = ", ".join(is_ or "-" for is_, _ in nearest.values())
    return f"its file asks for {asks} now, and the slice has {has_}"


def _differences(has: SliceRequest, wanted: SliceRequest) -> dict[str, tuple[str, str]]:
    """Give what differs in what there is once it is there, however it was asked for."""
    names = ("cloud", "accelerator", "zone", "pricing", "runtime")
    pairs = {name: (getattr(has, name), getattr(wanted, name)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
