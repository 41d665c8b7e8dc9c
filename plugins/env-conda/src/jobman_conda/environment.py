"""The environment ``conda``: one of conda's environments a host, made by whatever conda it has."""

import functools
import re
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Final

import attrs

from jobman_conda.definition import Definition
from jobman_core.command import Command, exports, quote
from jobman_core.errors import InvalidInputError
from jobman_core.interfaces.backend import Problem
from jobman_core.interfaces.environment import Environment
from jobman_core.interfaces.problem import HostProblem
from jobman_core.models.job import JobSpec

#: A name that conda allows, and that is one folder.
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*")
#: Variables of a job that installers heed: mirrors, proxies, certificates.
_TOLD: Final = re.compile(
    r"(CONDA|MAMBA|PIP)_.*|(?i:https?_proxy|all_proxy|no_proxy)|SSL_CERT_(FILE|DIR)"
)
_FETCHED: Final = ("https://", "http://", "file:///")


@attrs.frozen
class CondaConfig:
    """``conda``: the environment that commands run in."""

    #: The name of the environment.
    name: str
    #: An environment.yml; without one the environment has to be there, or is an empty one.
    config_file: Path | None = None
    #: What to install where a host has no conda: an installer like miniforge's.
    installer_url: str | None = None


class CondaEnvironment(Environment):
    """An environment of conda, mamba or micromamba, found by its name."""

    name = "conda"
    Config = CondaConfig

    def check(self, spec: JobSpec) -> Iterator[Problem]:
        """Say what is wrong with the job's section, and with its environment.yml."""
        section = spec.sections[self.name]
        name = str(section["name"])
        if not _NAME.fullmatch(name):
            wrong = f"{name!r} is no name for an environment: write a plain one, like my_env"
            yield Problem("name", wrong)
        url = section.get("installer_url")
        if url is not None and not str(url).startswith(_FETCHED):
            wrong = f"{url!r} is no address of an installer: write one that begins with https://"
            yield Problem("installer_url", wrong)
        for fault in self._definition(spec).faults:
            yield Problem("config_file", fault)

    def setup(self, spec: JobSpec, name: str | None) -> Sequence[Command]:
        """Make the section's environment; another one has to be there.

        Raises:
            InvalidInputError: the environment.yml has faults by now.
        """
        section = spec.sections[self.name]
        own = str(section["name"])
        if name not in {None, own}:
            return (_enter(str(name)),)
        definition = self._definition(spec)
        if definition.faults:
            raise InvalidInputError("; ".join(definition.faults))
        env = {key: value for key, value in spec.environment.items() if _TOLD.fullmatch(key)}
        argv = _script("setup.sh", own, str(section.get("installer_url") or ""))
        return (Command(argv, env=env, stdin=definition.content),)

    def wrap(self, spec: JobSpec, name: str | None, command: Command) -> Command:
        """Run a command in an environment that was activated; else it is not started."""
        return _enter(name or str(spec.sections[self.name]["name"]), command)

    def problems(self, spec: JobSpec) -> Sequence[HostProblem]:
        """Look for the environment, and for the packages that its environment.yml names."""
        own = str(spec.sections[self.name]["name"])
        definition = self._definition(spec)
        make = None if definition.faults else _remedy(self.setup(spec, None)[0])
        text = f"make the environment {own}"
        found = [HostProblem("conda", quote(_enter(own).argv) + "\n", make, text, cheap=True)]
        if definition.names:
            look = Command(_script("packages.sh", *definition.names))
            check = quote(_enter(own, look).argv) + "\n"
            found.append(HostProblem("conda packages", check, make, text))
        return found

    def _definition(self, spec: JobSpec) -> Definition:
        file = spec.sections[self.name].get("config_file")
        return Definition.read(Path(file)) if file else Definition()


def _enter(name: str, command: Command | None = None) -> Command:
    """Give a command inside an environment; without one, what only looks whether it is there."""
    command = command or Command(())
    return attrs.evolve(command, argv=_script("enter.sh", name, *command.argv))


def _remedy(command: Command) -> str:
    """Give a shell script that runs a command with its standard input."""
    given = command.stdin.decode()
    return f"{exports(command.env)}{quote(('printf', '%s', given))} | {quote(command.argv)}\n"


def _script(name: str, *arguments: str) -> tuple[str, ...]:
    """Give the argv of a script of ours: constant text, with what differs as arguments."""
    text = _text(name)
    if name in {"setup.sh", "enter.sh"}:
        text = _text("find.sh") + text
    return ("bash", "-c", text, "jobman-conda", *arguments)


@functools.cache
def _text(name: str) -> str:
    return resources.files("jobman_conda").joinpath(name).read_text(encoding="utf-8")
