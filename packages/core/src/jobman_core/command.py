"""Commands as lists of arguments, how they ended, and the one place that quotes for a shell."""

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Final

import attrs

from jobman_core.errors import InvalidInputError

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BASH_OWN: Final = re.compile(
    "_|BASHOPTS|BASHPID|BASH_(ALIASES|ARGC|ARGV|ARGV0|CMDS|COMMAND|LINENO|SOURCE|SUBSHELL|VERSINFO)"
    "|DIRSTACK|EPOCHREALTIME|EPOCHSECONDS|EUID|FUNCNAME|GROUPS|HISTCMD|LINENO|OPTIND|PIPESTATUS"
    "|PPID|RANDOM|SECONDS|SHELLOPTS|SRANDOM|UID"
)


def _strings(argv: Iterable[str]) -> tuple[str, ...]:
    """Make a tuple; a bare ``tuple`` would leave type checkers without the type of its items."""
    return tuple(argv)


@attrs.frozen
class Command:
    """A program to start. No shell reads it unless it is one."""

    argv: tuple[str, ...] = attrs.field(converter=_strings)
    #: Added to what the place where it runs provides.
    env: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    #: Relative to the home folder of the host; None is the home folder itself.
    cwd: str | None = None
    stdin: bytes = attrs.field(default=b"", repr=False)
    #: Promises to leave no process behind, which makes it cheaper on a local host.
    transient: bool = False


@attrs.frozen
class Exit:
    """How a command ended."""

    #: As a shell gives it: 128 and the number for a signal.
    code: int
    stdout: bytes = b""
    stderr: bytes = b""

    @property
    def ok(self) -> bool:
        """Tell whether it ended with zero."""
        return self.code == 0

    def tail(self, lines: int = 5) -> str:
        """Give the last lines of what it said, errors first, as text for a person."""
        said = (self.stderr.strip() or self.stdout.strip()).decode("utf-8", "replace")
        return "\n".join(said.splitlines()[-lines:])


def is_variable(name: str) -> bool:
    """Tell whether an environment variable of that name can reach a program through bash.

    It keeps some for itself (bash(1), "Shell Variables"): what is exported under them is lost.
    """
    return bool(_VARIABLE.fullmatch(name)) and not _BASH_OWN.fullmatch(name)


def quote(argv: Iterable[str]) -> str:
    """Give one line that a POSIX shell reads back as exactly these arguments."""
    return shlex.join(argv)


def exports(env: Mapping[str, str]) -> str:
    """Give text that a POSIX shell reads back as exactly these variables, for what it starts.

    Raises:
        InvalidInputError: a name or a value that no program could be given.
    """
    for name, value in env.items():
        if not is_variable(name):
            msg = f"environment: {name!r} cannot be the name of a variable: use letters, digits, _"
            raise InvalidInputError(msg)
        if "\0" in value:
            raise InvalidInputError(f"environment: {name} cannot hold a NUL character")
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in env.items())
