"""Several accounts of this machine in one process, for tests that run as root."""

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import attrs

#: No account of any machine has it, nor has any group.
GROUP: Final = 40100


@attrs.frozen
class Account:
    """An account without a name, in the group that shares homes unless told otherwise."""

    uid: int
    umask: int = 0o022
    groups: tuple[int, ...] = (GROUP,)

    @property
    def name(self) -> str:
        """What jobman calls it."""
        return f"uid{self.uid}"

    @contextlib.contextmanager
    def acting(self) -> Iterator[None]:
        """Let this whole process act as this account for the length of a block."""
        before = os.getgroups(), os.getegid(), os.geteuid()
        umask = os.umask(self.umask)
        _become(self.groups, self.uid, self.uid)
        try:
            yield
        finally:
            _become(*before)
            os.umask(umask)


def _become(groups: Iterable[int], gid: int, uid: int) -> None:
    os.seteuid(0)
    os.setgroups([*groups])
    os.setegid(gid)
    os.seteuid(uid)


#: One whose files are for nobody else, and one whose files everybody may read.
ADA: Final = Account(40001, umask=0o077)
BOB: Final = Account(40002)
#: Who is in no group that anybody shares anything with.
EVE: Final = Account(40003, groups=())


@contextlib.contextmanager
def shared_folder(mode: int = 0o2770) -> Iterator[Path]:
    """Give a folder of the group's, as ``install -d -m 2770 -g GROUP`` makes one; root owns it.

    It lies where everybody comes to it, as pytest's own folders do not.
    """
    with tempfile.TemporaryDirectory(prefix="jobman-shared-") as above:
        Path(above).chmod(0o755)
        folder = Path(above) / "home"
        folder.mkdir()
        os.chown(folder, 0, GROUP)
        folder.chmod(mode)
        yield folder
