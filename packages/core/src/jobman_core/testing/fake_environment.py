"""An environment that is one file on the host, for tests of what stands above environments."""

from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from jobman_core.command import Command, quote
from jobman_core.interfaces.backend import Problem
from jobman_core.interfaces.environment import Environment
from jobman_core.interfaces.problem import HostProblem
from jobman_core.models.job import JobSpec

_FOLDER: Final = ".fake-environments"
_ENTER: Final = f"""
[ -e "$HOME/{_FOLDER}/$1" ] || {{ echo "there is no fake environment $1 here" >&2; exit 1; }}
export FAKE_ENVIRONMENT="$1"
shift
[ -z "${{JOBMAN_ATTEMPT_TOKEN-}}" ] || touch "$HOME/outside-${{JOBMAN_ATTEMPT_TOKEN%%.*}}"
exec "$@"
"""


@attrs.frozen
class FakeEnvironmentConfig:
    """The section ``fake`` of a job file."""

    name: str = "base"


class FakeEnvironment(Environment):
    """Sets the variable ``FAKE_ENVIRONMENT`` to its name, where it was set up.

    What an attempt has outside its processes is the file ``outside-TOKEN``; an end removes it, and
    fails while there is a file ``stuck``.
    """

    name = "fake"
    Config = FakeEnvironmentConfig

    def check(self, spec: JobSpec) -> Iterable[Problem]:
        """Refuse names that are no names of files."""
        if "/" in self._name(spec, None):
            yield Problem("name", "it must not hold a '/'")

    def setup(self, spec: JobSpec, name: str | None) -> Sequence[Command]:
        """Make its file."""
        path = f"{_FOLDER}/{self._name(spec, name)}"
        return (Command(("mkdir", "-p", _FOLDER)), Command(("touch", "--", path)))

    def wrap(self, spec: JobSpec, name: str | None, command: Command) -> Command:
        """Set the variable around a command."""
        argv = ("sh", "-c", _ENTER, "sh", self._name(spec, name), *command.argv)
        return attrs.evolve(command, argv=argv)

    def end(self, spec: JobSpec, token: str) -> Command | None:
        """Give what removes that file."""
        del spec
        inside = '[ ! -e stuck ] || { echo "it is stuck"; exit 1; }; rm -f "outside-$1"'
        return Command(("sh", "-c", inside, "sh", token), transient=True)

    def problems(self, spec: JobSpec) -> Sequence[HostProblem]:
        """Look for its file."""
        path = quote((f"{_FOLDER}/{self._name(spec, None)}",))
        check = f"[ -e {path} ] || {{ echo it is gone; exit 1; }}"
        return (HostProblem("fake environment", check, f"touch {path}", "make it", cheap=True),)

    def _name(self, spec: JobSpec, name: str | None) -> str:
        return name or str(spec.sections.get(self.name, {}).get("name", "base"))
