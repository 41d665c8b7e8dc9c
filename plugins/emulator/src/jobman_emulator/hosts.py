"""The kinds of hosts that there are to choose from, loaded when they are chosen."""

from pathlib import Path
from typing import Final

from jobman_core.errors import InvalidInputError, instead
from jobman_emulator.machines import Machines, NoMachines

#: What there is, as ``--hosts`` has it.
KINDS: Final = ("process", "netns", "none")
#: Of process hosts, which share this machine's ports, each with an address of its own.
_PORT: Final = 2222


def make_hosts(kind: str, folder: Path, *, port: int | None = None) -> Machines:
    """Make what boots the hosts.

    Args:
        kind: ``process``, ``netns`` (needs root) or ``none``.
        folder: where they keep what is theirs.
        port: of SSH, for process hosts; 0: a free one; None: the usual one.

    Raises:
        InvalidInputError: there is no such kind, or this machine lacks what it takes.
    """
    match kind:
        case "process":
            from jobman_emulator.process_hosts import ProcessHosts

            return ProcessHosts(folder, port=_PORT if port is None else port)
        case "netns":
            from jobman_emulator.netns_hosts import NetnsHosts

            if missing := NetnsHosts.missing():
                raise InvalidInputError(missing)
            return NetnsHosts(folder)
        case "none":
            return NoMachines()
    raise InvalidInputError(f"unknown hosts {kind!r}: {instead(kind, [*KINDS])}")
