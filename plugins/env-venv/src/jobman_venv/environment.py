"""The environment ``venv``: one virtual environment a host, in a folder of its home."""

import functools
import re
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Final

from jobman_core.command import Command, exports, quote
from jobman_core.errors import InvalidInputError
from jobman_core.interfaces.backend import Problem
from jobman_core.interfaces.environment import Environment
from jobman_core.interfaces.problem import HostProblem
from jobman_core.models.job import JobSpec
from jobman_venv.requirements import Requirements

#: Installed scripts have their interpreter's path in the first line, where a space would end it.
_FOLDER: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*(/[A-Za-z0-9_.][A-Za-z0-9._+-]*)*")
_VERSION: Final = re.compile(r"(?:python)?(3\.\d+)?|python3?|3")
#: Variables of a job that installers heed: mirrors, proxies, certificates.
_TOLD: Final = re.compile(r"(PIP|UV)_.*|(?i:https?_proxy|all_proxy|no_proxy)|SSL_CERT_(FILE|DIR)")


class VenvEnvironment(Environment):
    """``~/<venv.name>`` on each host, where Jobman v3 has it as well."""

    name = "venv"

    def check(self, spec: JobSpec) -> Iterator[Problem]:
        """Say what is wrong with the job's section, and with the requirements file."""
        section = spec.sections[self.name]
        folder = str(section["name"])
        if not _FOLDER.fullmatch(folder) or not {".", "..", ".jobman"}.isdisjoint(
            folder.split("/")
        ):
            wrong = f"{folder!r} is no folder for an environment: write a plain name, like my_venv"
            yield Problem("name", wrong)
        python = str(section.get("python") or "")
        if _version(python) is None:
            wrong = (
                f"{python!r} names no Python: write a version like 3.10, or the absolute path that "
                "it has on the hosts"
            )
            yield Problem("python", wrong)
        for fault in self._requirements(spec).faults:
            yield Problem("requirements_file", fault)

    def setup(self, spec: JobSpec, name: str | None) -> Sequence[Command]:
        """Make the section's environment; another one has to be there.

        Raises:
            InvalidInputError: the requirements file has faults by now.
        """
        own = str(spec.sections[self.name]["name"])
        if name not in {None, own}:
            return (_enter(str(name)),)
        requirements = self._requirements(spec)
        if requirements.faults:
            raise InvalidInputError("; ".join(requirements.faults))
        python = _version(str(spec.sections[self.name].get("python") or ""))
        content = requirements.content
        argv = _script("setup.sh", own, python or "", _installer(requirements), str(len(content)))
        env = {name: value for name, value in spec.environment.items() if _TOLD.fullmatch(name)}
        return (Command(argv, env=env, stdin=content + requirements.constraints_content),)

    def wrap(self, spec: JobSpec, name: str | None, command: Command) -> Command:
        """Run a command in an environment; without it, it is not started."""
        return _enter(name or str(spec.sections[self.name]["name"]), command)

    def problems(self, spec: JobSpec) -> Sequence[HostProblem]:
        """Look for the environment, and for the packages that the requirements name."""
        own = str(spec.sections[self.name]["name"])
        requirements = self._requirements(spec)
        make = None if requirements.faults else _remedy(self.setup(spec, None)[0])
        text = f"make ~/{own} and install its requirements"
        found = [HostProblem("venv", quote(_enter(own).argv) + "\n", make, text, cheap=True)]
        if requirements.names:
            look = ("python", "-I", "-c", _text("packages.py"), *requirements.names)
            check = quote(_enter(own, Command(look)).argv) + "\n"
            found.append(HostProblem("venv packages", check, make, text))
        return found

    def _requirements(self, spec: JobSpec) -> Requirements:
        file = spec.sections[self.name].get("requirements_file")
        return Requirements.read(Path(file)) if file else Requirements()


def _version(python: str) -> str | None:
    """Give a version, a path, or "" for any Python; None: it is none of these."""
    if python.startswith(("/", "~/")):
        return python
    match = _VERSION.fullmatch(python.strip())
    return (match[1] or "") if match else None


def _installer(requirements: Requirements) -> str:
    if requirements.for_pip:
        return "pip"
    return "uv-if-there" if requirements.offline else "uv"


def _enter(name: str, command: Command | None = None) -> Command:
    """Give a command inside an environment; without one, what only looks whether it is there."""
    command = command or Command(())
    return Command(
        _script("enter.sh", name, *command.argv),
        env=command.env,
        cwd=command.cwd,
        stdin=command.stdin,
        transient=command.transient,
    )


def _remedy(command: Command) -> str:
    """Give a shell script that runs a command with its standard input."""
    given = command.stdin.decode()
    return f"{exports(command.env)}{quote(('printf', '%s', given))} | {quote(command.argv)}\n"


def _script(name: str, *arguments: str) -> tuple[str, ...]:
    """Give the argv of a script of ours: constant text, with what differs as arguments."""
    return ("bash", "-c", _text(name), "jobman-venv", *arguments)


@functools.cache
def _text(name: str) -> str:
    return resources.files("jobman_venv").joinpath(name).read_text(encoding="utf-8")
