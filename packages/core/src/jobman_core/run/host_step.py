"""One thing that is done on hosts before work."""

import functools
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Final

import attrs

from jobman_core.command import Command, is_variable
from jobman_core.errors import InvalidInputError
from jobman_core.models.task import Workers

#: Begins the key of a prefix script.
PREFIX: Final = "prefix_"


class Marks(StrEnum):
    """Which marks of steps on hosts are meant, as a shell pattern."""

    ALL = "*"
    OF_PREFIX = "prefix_*"


def _commands(given: Iterable[Command]) -> tuple[Command, ...]:
    return tuple(given)


@attrs.frozen
class HostStep:
    """One thing to be done on hosts, once for each machine that was started and each content."""

    #: Names its mark on the hosts and its log: ``venv``, ``prefix_gcloud-setup``.
    key: str
    #: For people: ``environment venv``, ``prefix script gcloud-setup``.
    title: str
    #: In turn; an argument that is ``{script}`` stands for a file with the command's standard
    #: input.
    commands: tuple[Command, ...] = attrs.field(converter=_commands)
    workers: Workers = Workers("all")
    #: The job cannot go on without it.
    required: bool = True
    #: The argv that ends with 0 where what was done still stands; empty: its mark is enough.
    check: tuple[str, ...] = ()
    #: Variables of its commands that do not count as its content.
    env: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    #: Seconds that it may take; None: as long as it wants.
    limit: float | None = 3600.0

    @property
    def is_prefix(self) -> bool:
        """Tell whether it is one of the user's own scripts."""
        return self.key.startswith(PREFIX)

    def on(self, hosts: int) -> tuple[int, ...]:
        """Give where it is done on a slice with so many hosts."""
        return self.workers.pick(hosts)

    @functools.cached_property
    def content(self) -> str:
        """The hash of all that it does (SHA-256, hex): what differs is done again."""
        return hashlib.sha256(self.wired({})).hexdigest()

    def in_short(self) -> str:
        """Give its commands, a line each, for people: a script among the arguments is cut."""
        return "\n".join(
            " ".join("…" if "\n" in item else item or "''" for item in command.argv)
            for command in self.commands
        )

    def wired(self, env: Mapping[str, str]) -> bytes:
        """Give the commands as ``step.sh`` reads them.

        Args:
            env: variables for all of them.

        Raises:
            InvalidInputError: a variable or an argument that no program could be given.
        """
        return b"".join(part for command in self.commands for part in _wired(command, env))


def _wired(command: Command, env: Mapping[str, str]) -> Iterator[bytes]:
    variables = {**env, **command.env}
    for name in variables:
        if not is_variable(name):
            raise InvalidInputError(
                f"environment: {name!r} cannot be the name of a variable: use letters, digits, _"
            )
    for items in ([f"{name}={value}" for name, value in variables.items()], command.argv):
        yield b"%d\0" % len(items)
        for item in items:
            if "\0" in item:
                raise InvalidInputError("a command of a set-up step cannot hold a NUL character")
            yield item.encode("utf-8", "surrogateescape") + b"\0"
    yield (command.cwd or ".").encode("utf-8", "surrogateescape") + b"\0"
    yield b"%d\0" % len(command.stdin) + command.stdin
