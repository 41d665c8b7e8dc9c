"""The environment ``docker``: one container an attempt and host, which ends with the attempt."""

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Any, Final

from jobman_core.command import Command, is_variable
from jobman_core.interfaces.backend import Problem
from jobman_core.interfaces.environment import Environment
from jobman_core.interfaces.problem import HostProblem
from jobman_core.models.job import JobSpec
from jobman_docker.flags import faults, run_flags, split_flags

#: Seconds between TERM and KILL: below the agent's own, so that docker has said what became of it.
_GRACE: Final = 8
#: As in the registry's grammar (distribution/reference), though not all of it.
_IMAGE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]*")
#: Registries of Google, to which the service account of a host can log in.
_GOOGLE: Final = re.compile(r"([a-z0-9-]+-docker\.pkg\.dev|([a-z]+\.)?gcr\.io)")
_DAEMON: Final = 'find_docker || { echo "$_why"; exit 1; }\n'


class DockerEnvironment(Environment):
    """Programs run in a container that sees the home folder of the host, at the same path."""

    name = "docker"

    def check(self, spec: JobSpec) -> Iterator[Problem]:
        """Say what is wrong with the job's section."""
        section = spec.sections[self.name]
        if not _IMAGE.fullmatch(section["image"]):
            wrong = f"{section['image']!r} names no image: write one like python:3.11-slim"
            yield Problem("image", wrong)
        for variable in section.get("env_vars") or {}:
            if variable == "HOME" or variable.startswith("JOBMAN_") or not is_variable(variable):
                wrong = f"{variable!r} cannot be set: jobman, or bash, keeps that name for itself"
                yield Problem("env_vars", wrong)
        for mount in section["mount_dirs"]:
            if not all(_is_path(path) for path in mount.split(":")[:2]):
                wrong = (
                    f"{mount!r} is no folder to mount: write /folder, or /folder:/folder/inside, "
                    "with ~ for the home folder of the host"
                )
                yield Problem("mount_dirs", wrong)
        if not _is_path(section.get("workdir") or "/"):
            yield Problem("workdir", f"{section['workdir']!r} is no absolute path: begin it with /")
        try:
            flags = split_flags(section["flags"])
        except ValueError as error:
            yield Problem("flags", f"they cannot be read ({error}): close every quotation mark")
        else:
            yield from (Problem("flags", fault) for fault in faults(flags))

    def setup(self, spec: JobSpec, name: str | None) -> Sequence[Command]:
        """Look for docker, log in to a registry of Google, and pull the image.

        A tag may mean another image by now: it is pulled once after each start of a machine.
        """
        image = self._image(spec, name)
        host = image.partition("/")[0]
        registry = host if _GOOGLE.fullmatch(host) else ""
        return (Command(_script("setup.sh", image, registry)),)

    def wrap(self, spec: JobSpec, name: str | None, command: Command) -> Command:
        """Run a command in a container; no value of a variable stands in an argument."""
        section = spec.sections[self.name]
        image = self._image(spec, name)
        note = f"env {name!r} names no image: runs in {image}" if name not in (None, image) else ""
        env = {**command.env, **(section.get("env_vars") or {})}
        passed = [variable for variable in env if not variable.startswith("JOBMAN_")]
        mounts = [_both_ends(mount) for mount in section["mount_dirs"]]
        # A task's own folder has its code in it.
        folder = "" if command.cwd else section.get("workdir") or ""
        argv = (
            note,
            str(_GRACE),
            "--interactive" if command.stdin else "",
            folder,
            str(len(mounts)),
            *mounts,
            *(word for variable in passed for word in ("--env", variable)),
            *run_flags(split_flags(section["flags"])),
            image,
            *command.argv,
        )
        return Command(_script("run.sh", *argv), env=env, cwd=command.cwd, stdin=command.stdin)

    def end(self, spec: JobSpec, token: str) -> Command:
        """Remove an attempt's container."""
        del spec
        return Command(_script("end.sh", token), transient=True)

    def problems(self, spec: JobSpec) -> Sequence[HostProblem]:
        """Look whether the daemon answers."""
        del spec
        check = _text("common.sh") + _DAEMON
        return (
            HostProblem(
                "docker", check, "sudo -n systemctl restart docker\n", "start docker again"
            ),
        )

    def _image(self, spec: JobSpec, name: str | None) -> str:
        """Give the image that a task wants, else the job's.

        A tasks file is for workers of all environments, and ``env: my_venv`` names none for docker.
        """
        section: Mapping[str, Any] = spec.sections[self.name]
        named = name is not None and {"/", ":"} & set(name) and _IMAGE.fullmatch(name)
        return name if name is not None and named else str(section["image"])


def _is_path(text: str) -> bool:
    return text == "~" or text.startswith(("/", "~/"))


def _both_ends(mount: str) -> str:
    """Give a mount as docker takes it; one folder is the same inside."""
    return mount if ":" in mount else f"{mount}:{mount}"


def _script(name: str, *arguments: str) -> tuple[str, ...]:
    """Give the argv of a script of ours: constant text, with what differs as arguments."""
    return ("/bin/bash", "-c", _text("common.sh") + _text(name), "jobman-docker", *arguments)


def _text(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
