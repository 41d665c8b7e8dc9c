"""A machine with a stand-in for docker, and a job that wants it."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import attrs

from jobman_core.command import Command
from jobman_core.models.job import CommandMode, JobSpec
from jobman_core.models.slice import SliceRequest


class Machine:
    """Folders for programs, for what docker keeps, and for the host's home."""

    def __init__(self, root: Path) -> None:
        self.bin, self.state, self.home = root / "bin", root / "docker", root / "home"
        for folder in (self.bin, self.state / "containers", self.home):
            folder.mkdir(parents=True)
        (self.state / "images").touch()
        stand_in = Path(__file__).with_name("stand_in.py")
        self.program("docker", f'exec {sys.executable} -I -S {stand_in} {self.state} "$@"')
        self.path = f"{self.bin}:{os.environ['PATH']}"

    def program(self, name: str, script: str) -> None:
        """Put a program on its PATH."""
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def calls(self, verb: str) -> list[list[str]]:
        """Give how docker was called."""
        log = self.state / "calls"
        calls = map(json.loads, log.read_text().splitlines()) if log.exists() else ()
        return [call for call in calls if call[0] == verb]

    def containers(self) -> list[Any]:
        """Give what docker has."""
        specs = sorted((self.state / "containers").glob("*/spec"))
        return [json.loads(path.read_text()) for path in specs]

    def pids(self) -> list[int]:
        """Give the processes that are containers' first."""
        return [int(path.read_text()) for path in (self.state / "containers").glob("*/pid")]


def job(**section: Any) -> JobSpec:
    """Give a job with a docker section, as the core reads it."""
    plain = {"image": "jax:1", "mount_dirs": [], "flags": [], **section}
    request = SliceRequest("fake", "v4-8", "here")
    spec = JobSpec("job_1", "job-1", CommandMode("true"), (request,))
    return attrs.evolve(spec, env_type="docker", sections={"docker": plain})


def script(path: Path, text: str, **env: str) -> Command:
    """Give the command that the core would have wrapped, of a script that is on the host."""
    path.write_text(text)
    return Command(("bash", "-o", "pipefail", str(path)), env={"JOBMAN_JOB_ID": "000001", **env})
