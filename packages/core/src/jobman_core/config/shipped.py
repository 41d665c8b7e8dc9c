"""The ``code`` of jobs and tasks: which folder is shipped, and where to."""

from pathlib import Path

from jobman_core.config.faults import Faults
from jobman_core.config.nodes import Path_
from jobman_core.config.reading import Reading
from jobman_core.config.sections import CodeSection, JobCodeSection
from jobman_core.config.structure import structure
from jobman_core.config.values import work_folder
from jobman_core.models.task import Code

_SECTION = ("code",)


def job_code(reading: Reading) -> Code | None:
    """Give what a job ships; None: nothing, or that is faulty."""
    node = reading.section("code")
    if node is None:
        return None
    section = structure(node, JobCodeSection, _SECTION, reading.faults)
    if section is None:
        return None
    if reading.fresh and section.snapshot is not None:
        wrong = "jobman writes it into the files of its jobs: take it out"
        reading.faults.add((*_SECTION, "snapshot"), wrong)
    return code_of(section, section.path, _SECTION, reading.faults, snapshot=section.snapshot)


def code_of(
    section: CodeSection,
    folder: str,
    path: Path_,
    faults: Faults,
    *,
    workdir: str | None = None,
    snapshot: str | None = None,
) -> Code | None:
    """Give what a section ships; None: there is a fault.

    Args:
        section: which.
        folder: its folder, absolute.
        path: of the section.
        faults: gets what is wrong.
        workdir: where it is put if the section itself does not say so; None: the folder's name.
        snapshot: what was packed of it.
    """
    chosen = section.workdir or workdir
    if chosen is None:
        try:
            chosen = work_folder(Path(folder).name)
        except ValueError as error:
            faults.add((*path, "workdir"), f"the folder's name cannot be it: {error}")
            return None
    return Code(folder, chosen, tuple(section.exclude), snapshot)
