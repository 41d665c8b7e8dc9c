"""The files that say which process a session is."""

import asyncio
import errno
import fcntl
import hashlib
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self
from urllib.parse import quote

import attrs

from jobman_core.errors import HeldError, JobmanError, NotYoursError
from jobman_core.group import is_mine, is_shared
from jobman_core.home import Home, make_inside
from jobman_core.process.identity import ProcessIdentity

_LONGEST = 120
#: Seconds between looks at a lock that someone else has.
_LOCK_PAUSE = 0.05


def plain_name(name: str, longest: int = _LONGEST) -> str:
    """Write any name with letters, digits, ``-``, ``_`` and ``%`` alone; two names stay two.

    Of one that is longer than so many characters, as many are kept, and a digest of it is added.
    """
    plain = quote(name, safe="-_", errors="surrogateescape").replace(".", "%2E").replace("~", "%7E")
    if len(plain) > longest:
        digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        plain = f"{plain[:longest]}--{digest}"
    return plain


@attrs.frozen
class Records:
    """What a home knows of its sessions: one 0600 file each, renamed into place by the shim."""

    folder: Path
    #: Seconds to wait for another starter or ender: more than one needs.
    patience: float = 60.0

    @classmethod
    def of_home(cls, home: Path) -> Self:
        """Give the records of a home: whatever kind a session is, it has one."""
        return cls(Home(home).sessions)

    def path(self, name: str) -> Path:
        """Give the file of a session."""
        return self.folder / f"{plain_name(name)}.json"

    def read(self, name: str) -> ProcessIdentity | None:
        """Give the process that a session is, or was; None: nothing is known of it.

        Raises:
            NotYoursError: another user started it.
            JobmanError: the file is damaged.
        """
        path = self.path(name)
        try:
            fields = json.loads(self._content(path))
            return ProcessIdentity(int(fields["pid"]), int(fields["start"]), str(fields["boot_id"]))
        except FileNotFoundError:
            return None
        except PermissionError:
            raise NotYoursError(
                f"session {name!r} was started by another user: ask its owner"
            ) from None
        except (ValueError, TypeError, KeyError):
            raise JobmanError(
                f"{path} is damaged: find the process of session {name!r} with ps, end it, and "
                "remove the file"
            ) from None

    def _content(self, path: Path) -> bytes:
        # Another account's may name any process of this one, to have that ended.
        if is_shared(self.folder) and not is_mine(path):
            raise PermissionError(errno.EACCES, "it is another account's", str(path))
        return path.read_bytes()

    def remove(self, name: str) -> None:
        """Forget a session."""
        self.path(name).unlink(missing_ok=True)

    @asynccontextmanager
    async def locked(self, name: str) -> AsyncIterator[None]:
        """Keep other starters and enders of the same session away; the folder is made.

        Raises:
            HeldError: one of them does not finish.
            OSError: the folder is not there and cannot be made.
            NotYoursError: another user started it.
        """
        make_inside(self.folder)
        path = self.path(name).with_suffix(".lock")
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except PermissionError:
            raise NotYoursError(
                f"session {name!r} was started by another user: ask its owner"
            ) from None
        try:
            try:
                async with asyncio.timeout(self.patience):
                    await _lock(fd)
            except TimeoutError:
                raise HeldError(
                    f"another command is starting or ending session {name!r}: wait for it, or end "
                    "it, then try again"
                ) from None
            yield
        finally:
            os.close(fd)


async def _lock(fd: int) -> None:
    # Not blocking in a thread: one that waits could not be cancelled.
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            await asyncio.sleep(_LOCK_PAUSE)
        else:
            return
