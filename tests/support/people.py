"""Several people of one machine, who use one home by its command, each with their own account."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.support.accounts import Account
from tests.support.lab import Lab

#: Lets everybody come to the folders that are named, though what they lie in is root's alone: in
#: a name space of mounts that is gone with its last process. Says so, and waits to be let go.
_OPEN_UP: Final = """
set -eu
proc=$1; shift
stage=$(mktemp -d); number=0
mount -t tmpfs none "$stage"
for pair; do
    number=$((number + 1)); mkdir "$stage/$number"; mount --bind "${pair#*|}" "$stage/$number"
done
for pair; do
    mountpoint -q "${pair%%|*}" || mount -t tmpfs -o mode=755 none "${pair%%|*}"
done
number=0
for pair; do
    number=$((number + 1)); mkdir -p "${pair#*|}"; mount --bind "$stage/$number" "${pair#*|}"
done
test -z "$proc" || mount -t proc -o "$proc" proc /proc
echo ready
exec cat
"""


class Person(Lab):
    """Somebody in a home that a group shares."""

    def __init__(self, root: Path, account: Account, space: int) -> None:
        self.root = root
        self.account = account
        self.marks = [str(root)]
        #: Holds the name space of mounts in which this person's programs run.
        self._space = space
        self.own = root.parent / account.name
        self.own.mkdir()
        os.chown(self.own, account.uid, account.uid)
        self.env = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("JOBMAN", "TMUX"))},
            "JOBMAN_HOME": str(root),
            "HOME": str(self.own),
            "USER": account.name,
            "NO_COLOR": "1",
        }

    @property
    def command(self) -> list[str]:
        """What runs ``jobman`` as this person, with their umask."""
        account = self.account
        groups = ",".join(map(str, account.groups))
        return [
            *("nsenter", "-t", str(self._space), "-m", "env", "-C", str(self.own)),
            *("setpriv", f"--reuid={account.uid}", f"--regid={account.uid}"),
            f"--groups={groups}" if groups else "--clear-groups",
            *("sh", "-c", 'umask "$1"; shift; exec "$@"', "sh", f"{account.umask:o}"),
            *super().command,
        ]

    def write(self, name: str, text: str) -> Path:
        """Write a file of one's own, which all may read."""
        path = self.own / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o644)
        return path


@contextlib.contextmanager
def space(proc: str = "") -> Iterator[int]:
    """Give a process in whose name space of mounts everybody can run this Python and its jobman.

    Args:
        proc: options of ``/proc`` there, as ``hidepid=2``.
    """
    needed = [Path(sys.base_prefix), Path(sys.prefix), Path(__file__).parents[2]]
    hidden = [f"{above}|{path}" for path in dict.fromkeys(needed) if (above := _hiding(path))]
    holder = subprocess.Popen(
        ["unshare", "--mount", "--propagation=private", "sh", "-c", _OPEN_UP, "sh", proc, *hidden],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "ready\n"
        yield holder.pid


def _hiding(path: Path) -> Path | None:
    """Give the outermost folder that keeps others from coming to a path."""
    closed = [above for above in path.parents if not above.stat().st_mode & 0o001]
    return closed[-1] if closed else None
