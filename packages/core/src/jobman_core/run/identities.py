"""Bring the keys of ``ssh.identities``, and what OpenSSH is told of them, to hosts."""

from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any, Final

from jobman_core.command import Command
from jobman_core.config.faults import WrongValueError
from jobman_core.config.identities import (
    FIRST_LINE,
    LAST_LINE,
    KeyFile,
    config_block,
    home_folder,
    key_files,
    section_of,
)
from jobman_core.config.nodes import dotted
from jobman_core.errors import InvalidInputError
from jobman_core.models.job import JobSpec
from jobman_core.run.host_step import HostStep

#: Constant text: what differs stands on its standard input.
_SCRIPT: Final = resources.files("jobman_core.run").joinpath("identities.sh").read_text("utf-8")
#: Seconds for a few small files.
_LIMIT: Final = 60.0


def identity_step(spec: JobSpec) -> HostStep | None:
    """Give the step that puts a job's keys on its hosts; it reads them, so call it in a thread.

    What is secret travels on the step's standard input. A section that names no identities (any
    more) has the step too: it takes out what OpenSSH was told of earlier ones.

    Returns:
        None where the job's file says nothing about SSH, or it has no meaning there.

    Raises:
        InvalidInputError: a key file is missing on this machine, or is none; it says which.
    """
    section = section_of(spec)
    if section is None:
        return None
    items = (FIRST_LINE, LAST_LINE, config_block(section))
    told = [item.encode("utf-8", "surrogateescape") for item in items]
    places: list[str] = []
    for file, content in _keys(section):
        places += (f"{file.mode:o}", file.target(home_folder()))
        told.append(content)
    argv = ("bash", "-c", _SCRIPT, "jobman-identities", *places)
    command = Command(argv, stdin=b"".join(item + b"\0" for item in told))
    # Nothing depends on what is only taken out.
    needed = bool(section.get("identities"))
    return HostStep("identities", "SSH identities", (command,), required=needed, limit=_LIMIT)


def _keys(section: Mapping[str, Any]) -> Iterator[tuple[KeyFile, bytes]]:
    for file in key_files(section):
        try:
            yield file, file.read()
        except WrongValueError as error:
            raise InvalidInputError(f"{dotted(('ssh', *file.at))}: {error}") from error
