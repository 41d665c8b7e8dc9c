"""Text that breaks whoever pastes it into a shell line instead of handing it on as data."""

from typing import Final

#: Every character that a POSIX shell gives a meaning to, and what else has gone wrong somewhere.
TRAPS: Final = (
    "",
    " ",
    "two words",
    "  kept  spaces\t",
    "'single'",
    '"double"',
    'it\'s "both"',
    "$HOME ${HOME} $(echo no) `echo no`",
    "\\ \\n \\\\ \\$",
    "*?[a-z]{a,b}~ ~/x",
    "a;b & c | d > e < f ( g ) # h ! i",
    "line one\nline two\n",
    "<<EOF\nnot here\nEOF\n",
    "-n",
    "--help",
    "-",
    "äöü € 日本語 🙂",
    "a=b=c",
    "{script}x",
    "%s%d%n",
    "\r\x07\x1b[31m",
)
