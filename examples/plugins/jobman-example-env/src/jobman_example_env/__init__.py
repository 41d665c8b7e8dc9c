"""The environment ``toolbox``: a folder on each host, whose programs come first on PATH."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

from jobman_core import hookimpl
from jobman_core.command import Command
from jobman_core.interfaces.backend import Problem
from jobman_core.interfaces.environment import Environment
from jobman_core.models.attempt import SCRIPT
from jobman_core.models.job import JobSpec

FILL = 'mkdir -p "$1/bin" && cd "$1" && PATH=$PWD/bin:$PATH bash "$2" && touch filled'
ENTER = """
[ -e "$HOME/$1/filled" ] || { echo "there is no toolbox $1 on this host" >&2; exit 1; }
export PATH="$HOME/$1/bin:$PATH"
shift
exec "$@"
"""


@attrs.frozen
class ToolboxConfig:
    """The section ``toolbox`` of a job file."""

    #: A folder below the home folder of each host.
    name: str
    #: A script on this machine that puts programs into ``bin``; run in the folder, on each host.
    fill: Path


class Toolbox(Environment):
    """``~/<name>/bin`` before everything else."""

    name = "toolbox"
    Config = ToolboxConfig

    def check(self, spec: JobSpec) -> Iterator[Problem]:
        """Refuse what no host could make."""
        if not spec.sections["toolbox"]["name"].replace("-", "").isalnum():
            yield Problem("name", "it must be a plain name: use letters, digits and '-'")
        if not Path(spec.sections["toolbox"]["fill"]).is_file():
            yield Problem("fill", "there is no such file: check the path")

    def setup(self, spec: JobSpec, name: str | None) -> Sequence[Command]:
        """Fill the folder; the script is part of the command, so that an edit of it counts."""
        section = spec.sections["toolbox"]
        argv = ("bash", "-c", FILL, "bash", name or section["name"], SCRIPT)
        return (Command(argv, stdin=Path(section["fill"]).read_bytes()),)

    def wrap(self, spec: JobSpec, name: str | None, command: Command) -> Command:
        """Put the folder on PATH, or start nothing."""
        name = name or spec.sections["toolbox"]["name"]
        return attrs.evolve(command, argv=("sh", "-c", ENTER, "sh", name, *command.argv))


@hookimpl
def jobman_environments() -> list[type[Environment]]:
    """Bring it to jobman."""
    return [Toolbox]
