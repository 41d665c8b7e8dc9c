"""What the accounts of a machine share: folders whose Unix group has a part in them.

As with git's ``core.sharedRepository=group``: a folder that is setgid gives its group to what is
made in it. Here it gives its group's rights as well, whatever the umask is of whoever makes it, for
the next one has another. What is for its owner alone (0600) is made without any of this.
"""

import grp
import os
import pwd
import stat
from pathlib import Path

from jobman_core.errors import NotYoursError

_GROUP_WRITES = stat.S_ISGID | stat.S_IWGRP


def is_shared(folder: Path) -> bool:
    """Tell whether what is made in a folder is everybody's in its group: setgid, and writable."""
    try:
        return folder.stat().st_mode & _GROUP_WRITES == _GROUP_WRITES
    except OSError:
        return False


def account(uid: int | None = None) -> str:
    """Give the name of an account, by default that of this process, as the system knows it.

    One without a name, as where a directory service does not answer, is ``uid<number>``: it owns
    nothing that belongs to a name.
    """
    uid = os.geteuid() if uid is None else uid
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid{uid}"


def rights(mode: int, folder: int, *, own: bool = False) -> int:
    """Give the permissions of what was made in a folder.

    Args:
        mode: its ``st_mode`` as it was made.
        folder: the folder's.
        own: the group reads it and no more.
    """
    others = folder & stat.S_IRWXO
    if not folder & stat.S_ISGID or (others and not folder & stat.S_IWGRP):
        return stat.S_IMODE(mode)
    group = folder & stat.S_IRWXG
    if own:
        group &= ~stat.S_IWGRP
    if not stat.S_ISDIR(mode):
        group &= ~stat.S_IXGRP
    return stat.S_IMODE(mode) & ~(stat.S_IRWXG | stat.S_IRWXO) | group | (mode & others)


def follow(path: Path, *, own: bool = False) -> None:
    """Give what was just made the rights that its folder gives; what is another's stays.

    Raises:
        OSError: it is not there, or a link has taken its place.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _follow(handle, path, own=own)
    finally:
        os.close(handle)


def opener(path: str | Path, flags: int, mode: int = 0o666) -> int:
    """Open a file of a home, as ``open(…, opener=opener)`` does; a new one follows its folder.

    Where others may write into the folder, a link in the file's place leads nowhere.

    Args:
        path: the file.
        flags: of ``open(2)``.
        mode: of one that is new, where no group shares its folder.

    Raises:
        OSError: it cannot be opened.
    """
    above = Path(path).parent.stat()
    if above.st_uid != os.geteuid() or above.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        flags |= os.O_NOFOLLOW
    handle = os.open(path, flags | os.O_CLOEXEC, mode)
    try:
        if flags & os.O_CREAT and os.fstat(handle).st_size == 0:
            _follow(handle, Path(path), own=False)
    except BaseException:
        os.close(handle)
        raise
    return handle


def is_mine(path: Path) -> bool:
    """Tell whether something is this account's own, and no link that somebody else may have laid.

    Raises:
        FileNotFoundError: it is not there.
    """
    status = path.lstat()
    return status.st_uid == os.geteuid() and not stat.S_ISLNK(status.st_mode)


def owner_of(path: Path) -> str:
    """Name whose something is, for people; empty: this account's, or nobody knows."""
    try:
        owner = path.lstat().st_uid
    except OSError:
        return ""
    return "" if owner == os.geteuid() else account(owner)


def group_of(path: Path) -> str:
    """Name the group that something belongs to, by its number where it has no name.

    Raises:
        OSError: it cannot be looked at.
    """
    number = path.stat().st_gid
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def check_mine(path: Path) -> None:
    """Refuse to use what somebody else has put where one's own should lie.

    Raises:
        NotYoursError: it is another account's.
    """
    if not is_mine(path):
        owner = owner_of(path) or "nobody knows whose"
        raise NotYoursError(
            f"{path} is {owner}'s, and not {account()}'s: have it moved away, then try again"
        )


def _follow(handle: int, path: Path, *, own: bool) -> None:
    status = os.fstat(handle)
    wanted = rights(status.st_mode, path.parent.stat().st_mode, own=own)
    if status.st_uid == os.geteuid() and wanted != stat.S_IMODE(status.st_mode):
        os.fchmod(handle, wanted)
