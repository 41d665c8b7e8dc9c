"""Job files: text to :class:`~jobman_core.models.job.JobSpec`, and to the snapshot of a job.

A user's file is read once before the job has its number (:func:`read_job`), and gives the spec
and the text of ``config.yaml`` once it has. From then on the snapshot is the job: its names are
final, and so is everything that the environment decided (:func:`load_snapshot`).
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import attrs

from jobman_core.config.assemble import Assembled, assemble
from jobman_core.config.interpolate import TPU_NAME
from jobman_core.config.nodes import Map, Path_, Scalar, dotted, is_null, locate, undotted
from jobman_core.config.places import cloud_of
from jobman_core.config.reading import Reading, read
from jobman_core.config.snapshot import snapshot_text
from jobman_core.config.source import Source, parse_source, read_source
from jobman_core.config.surroundings import Surroundings
from jobman_core.errors import ConfigError, Fault
from jobman_core.interfaces.backend import Problem
from jobman_core.interfaces.store import JobDraft
from jobman_core.models.job import JobSpec
from jobman_core.models.notice import NotifyRule
from jobman_core.models.task import Code

#: Stands in for the suffix while a file is checked; as long as any that will come.
_TRIAL: Final = "000000"
#: The same for what is packed of its code.
_TRIAL_CODE: Final = "0" * 64
_CODE: Final = ("code", "snapshot")
_NOTHING: Final = Scalar("", null=True)


@attrs.frozen
class JobFile:
    """A job file without faults."""

    #: The names in the file; in a snapshot those of the job.
    base_name: str
    base_tpu_name: str
    accelerator: str
    #: The first wanted.
    zone: str
    cloud: str
    #: The one that the file names, else the default of settings and machine.
    session: str
    #: The tasks file, absolute, of a queue worker.
    queue: str | None
    #: What the store makes the suffix from; None: from the id.
    worker_num: str | None
    #: Who is told of it; None: the file does not say.
    notify: NotifyRule | None
    #: What the user should know, a line each; nothing is wrong.
    notes: tuple[str, ...]
    _source: Source = attrs.field(repr=False)
    _around: Surroundings = attrs.field(repr=False)
    _fresh: bool = attrs.field(repr=False)

    def draft(self, user: str) -> JobDraft:
        """Give what the store must know before the job gets its number."""
        return JobDraft(
            user=user,
            base_name=self.base_name,
            accelerator=self.accelerator,
            zone=self.zone,
            cloud=self.cloud,
            session=self.session,
            queue=self.queue,
            worker_num=self.worker_num,
            # Whoever tells people cannot read what each of them has set for themselves.
            notify=self.notify or self._around.settings.own_notify,
        )

    @property
    def origin(self) -> tuple[Path, str]:
        """The file, absolute, and the text that was read from it."""
        return Path(self._source.path).absolute(), self._source.text

    def spec(self, suffix: str | None = None) -> JobSpec:
        """Give the job, with names that end in the suffix; None takes them as they are.

        Raises:
            ConfigError: what the file refers to has changed since it was read.
        """
        return _assemble(self._source, self._around, suffix, fresh=self._fresh).spec

    def refuse(self, problems: Iterable[tuple[str, Problem]]) -> None:
        """Find the places of what backends say of their sections, each by its name.

        Raises:
            ConfigError: there are any problems.
        """
        faults = [self.fault((name, *undotted(p.key)), p.message) for name, p in problems]
        if faults:
            raise ConfigError(faults)

    @property
    def checked(self) -> JobSpec:
        """The job, with a suffix that stands in for the one to come."""
        return self.spec(_TRIAL if self._fresh else None)

    @property
    def code(self) -> Code | None:
        """The folder that the job ships."""
        return self.checked.code

    def fault(self, path: Path_, message: str) -> Fault:
        """Say what is wrong at a key of the file."""
        line, column = locate(self._source.root, path)
        return Fault(self._source.path, line, column, dotted(path), message)

    def snapshot(
        self, suffix: str | None = None, *, job: str | None = None, code: str | None = None
    ) -> str:
        """Give the text of the job's ``config.yaml``, which reads back as :meth:`spec`.

        Args:
            suffix: makes the names unique; None takes them as they are.
            job: the name that the job has already, whatever the file says.
            code: what was packed of the code, if the text is to say so.

        Raises:
            ConfigError: what the file refers to has changed since it was read.
        """
        reading = read(self._source, self._around, suffix, fresh=self._fresh, job=job)
        text = _snapshot(reading, code)
        reading.faults.check()
        return text


def read_job(path: Path, around: Surroundings) -> JobFile:
    """Read a user's job file and check all of it, short of asking a cloud.

    Raises:
        ConfigError: every fault of the file.
    """
    return _job_file(read_source(path), around, fresh=True)


def parse_job(text: str, path: Path, around: Surroundings) -> JobFile:
    """Read the text of a user's job file that lies, or will lie, at a path.

    Raises:
        ConfigError: every fault of the text.
    """
    return _job_file(parse_source(text, path), around, fresh=True)


def read_snapshot(path: Path, around: Surroundings, job: str | None = None) -> JobFile:
    """Read the ``config.yaml`` of the job of a name, which its owner may have edited.

    Raises:
        ConfigError: every fault of the file.
    """
    return _job_file(read_source(path), around, fresh=False, job=job)


def parse_snapshot(text: str, path: Path, around: Surroundings) -> JobFile:
    """Read the text of a job's ``config.yaml`` that lies, or will lie, at a path.

    Raises:
        ConfigError: every fault of the text.
    """
    return _job_file(parse_source(text, path), around, fresh=False)


def load_snapshot(path: Path, around: Surroundings) -> JobSpec:
    """Read a job's ``config.yaml`` as what the job is.

    Raises:
        ConfigError: every fault of the file.
    """
    return _assemble(read_source(path), around, None, fresh=False).spec


def _assemble(
    source: Source, around: Surroundings, suffix: str | None, *, fresh: bool
) -> Assembled:
    reading = read(source, around, suffix, fresh=fresh)
    result = assemble(reading)
    reading.faults.check()
    # Without faults there is a result.
    assert result is not None  # noqa: S101 - for the type checker
    return result


def _job_file(
    source: Source, around: Surroundings, *, fresh: bool, job: str | None = None
) -> JobFile:
    suffix = _TRIAL if fresh else None
    reading = read(source, around, suffix, fresh=fresh, job=job)
    result = assemble(reading)
    text = _snapshot(reading, _TRIAL_CODE) if fresh else ""
    reading.faults.check()
    assert result is not None  # noqa: S101 - for the type checker: without faults there is one
    if fresh:
        _check_snapshot(text, reading, result)
        if result.worker_num is not None and len(result.worker_num) > len(_TRIAL):
            # A long word may make a name too long that was not with any number.
            read(source, around, result.worker_num, fresh=True).faults.check()
    first = result.spec.candidates[0]
    return JobFile(
        base_name=reading.base_name,
        base_tpu_name=reading.base_tpu_name,
        accelerator=first.accelerator,
        zone=first.zone,
        cloud=first.cloud,
        session=result.session,
        queue=result.queue,
        worker_num=result.worker_num,
        notify=result.notify,
        notes=result.notes,
        source=source,
        around=around,
        fresh=fresh,
    )


def _snapshot(reading: Reading, code: str | None) -> str:
    tpu = reading.source.root.get("tpu")
    # Settings may change later; the job keeps what it was created with.
    wanted: dict[Path_, str | None] = {
        TPU_NAME: reading.decided.get(TPU_NAME),
        ("tpu", "cloud"): cloud_of(reading),
    }
    added: dict[Path_, str] = {}
    decided = dict(reading.decided)
    for path, value in wanted.items():
        if value is None or not isinstance(tpu, Map):
            continue
        if path[-1] not in tpu:
            added[path] = value
        elif is_null(tpu[str(path[-1])]):
            decided[path] = value
    section = reading.section("code")
    if code is not None and section is not None and is_null(section.get("snapshot", _NOTHING)):
        if "snapshot" in section:
            decided[_CODE] = code
        else:
            added[_CODE] = code
    return snapshot_text(reading.source, reading.values, decided, added, reading.faults)


def _check_snapshot(text: str, reading: Reading, result: Assembled) -> None:
    """Make sure that the snapshot says what the file says: it is all that a resume has."""
    source = reading.source
    try:
        again = _assemble(parse_source(text, source.path), reading.around, None, fresh=False).spec
    except ConfigError:
        again = None
    spec = result.spec
    if spec.code is not None:
        spec = attrs.evolve(spec, code=attrs.evolve(spec.code, snapshot=_TRIAL_CODE))
    if again != spec:
        message = (
            "the job's own copy of this file would not say the same, as aliases or `?` keys tie "
            "its values together: write them out"
        )
        raise ConfigError([Fault(source.path, 0, 0, "", message)])
