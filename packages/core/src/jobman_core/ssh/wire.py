"""How a command's own exit status and output come back through a shell and whatever it says.

A shell on the host says a word of this call's own before the command and after it, on standard
output and on standard error, the second time with the exit status. What stands between the two
is the command's, whatever login files say; where the second is missing, the link was lost, whatever
status OpenSSH ends with.
"""

import re
from typing import Final

import attrs

from jobman_core.command import Command, exports, quote

#: WORD SIZE FOLDER ARGV…: so many bytes of standard input set the environment. The shell's own
#: remarks on a signal go nowhere. Positions hold its values: the environment may have any name.
_AROUND: Final = (
    'printf "%s\\n" "$1"; printf "%s\\n" "$1" >&2; { ( exec 2>&3 3>&-; shift; '
    'cd && cd "./$2" || exit 127; [ "$1" = 0 ] || eval "$(head -c "$1")"; shift 2; exec "$@" '
    ') ; } 3>&2 2> /dev/null; set -- "$1" $?; printf "%s %s\\n" "$@"; printf "%s %s\\n" "$@" >&2'
)

#: Bytes in which the second word stands, with room for the exit status.
_TAIL: Final = 16


@attrs.frozen
class Wired:
    """A command as it travels."""

    #: For the login shell of the host to read.
    line: str
    stdin: bytes = attrs.field(repr=False)
    word: bytes


def wire(command: Command, word: str) -> Wired:
    """Wrap a command up.

    Args:
        command: what to run.
        word: one that nothing else on the host says: letters, digits and '-'.

    Raises:
        InvalidInputError: an environment that no program could be given.
    """
    # Not in argv, which everybody on the host could read.
    env = exports(command.env).encode("utf-8", "surrogateescape")
    argv = ("sh", "-c", _AROUND, "sh", word, str(len(env)), command.cwd or "", *command.argv)
    return Wired(quote(argv), env + command.stdin, word.encode())


class Heard:
    """What has come over one of the two streams so far."""

    def __init__(self, word: bytes) -> None:
        """Expect the word of a call."""
        self._begin = word + b"\n"
        self._end = re.compile(re.escape(word) + rb" (\d+)\n")
        self._reach = len(word) + _TAIL
        self._content = bytearray()
        self._found: re.Match[bytes] | None = None
        #: Whether the command was begun.
        self.began = False

    def __len__(self) -> int:
        """Give how many bytes have come."""
        return len(self._content)

    def add(self, data: bytes) -> bool:
        """Take what has come; tell whether the command's end is in it."""
        at = max(0, len(self._content) - self._reach)
        self._content += data
        self.began = self.began or self._content.find(self._begin, at) >= 0
        self._found = self._found or self._end.search(self._content, at)
        return self._found is not None

    @property
    def code(self) -> int | None:
        """The command's exit status; None: unknown as yet."""
        return int(self._found[1]) if self._found else None

    @property
    def output(self) -> bytes:
        """What the command said."""
        begin = self._content.find(self._begin) + len(self._begin)
        return bytes(self._content[begin : self._found.start() if self._found else None])

    @property
    def noise(self) -> str:
        """All that was said, for people."""
        return self._content.decode("utf-8", "replace")
