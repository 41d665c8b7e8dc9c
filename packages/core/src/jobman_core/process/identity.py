"""Which process is which: a pid alone is used again, with its start time and boot id it is not."""

import asyncio
import functools
import hashlib
import os
import signal
import socket
from pathlib import Path
from typing import Literal, Self

import attrs

from jobman_core.errors import CommandFailedError, NotFoundError, NotYoursError
from jobman_core.process.shim import read_boot_id, read_stat

State = Literal["alive", "stopped", "gone"]

#: Seconds after which a killed process that is still there is reported.
_KILL_LIMIT = 15.0
#: State letters of processes that will never run again (proc(5)).
_DEAD = frozenset("ZXx")
#: Halted by a signal, or by a debugger.
_STOPPED = frozenset("Tt")


# Neither changes while this process lives, and a look at 200 jobs asks for both 200 times.
@functools.cache
def boot_id() -> str:
    """Give the id of this machine's present boot (``/proc/sys/kernel/random/boot_id``)."""
    return read_boot_id()


@functools.cache
def machine_id() -> str:
    """Give an id of this machine that stays over its boots.

    It is a hash of ``/etc/machine-id``, which machine-id(5) asks not to be shown as it is; without
    that file, of the host name.
    """
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            text = Path(path).read_text(encoding="ascii").strip()
        except FileNotFoundError:
            continue
        # What machine-id(5) says of an image that was never started.
        if text and text != "uninitialized":
            break
    else:
        text = socket.gethostname()
    return hashlib.sha256(f"jobman:{text}".encode()).hexdigest()[:32]


@attrs.frozen
class ProcessIdentity:
    """One process of one machine, for ever."""

    pid: int
    #: Field 22 of ``/proc/<pid>/stat``.
    start: int
    boot_id: str

    @classmethod
    def of(cls, pid: int) -> Self:
        """Give the identity of the process that has a pid now.

        Raises:
            NotFoundError: there is none.
        """
        try:
            return cls(pid, read_stat(pid)[1], boot_id())
        except (FileNotFoundError, ProcessLookupError):
            raise NotFoundError(f"no process has the id {pid}: it has ended") from None

    def state(self) -> State:
        """Tell what it is doing now; a zombie is gone."""
        if self.boot_id != boot_id():
            return "gone"
        try:
            letter, start = read_stat(self.pid)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            return "alive" if _hidden(self.pid) else "gone"
        if start != self.start or letter in _DEAD:
            return "gone"
        return "stopped" if letter in _STOPPED else "alive"


def _hidden(pid: int) -> bool:
    """Tell whether there is a process of another user that /proc does not show (hidepid)."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except ProcessLookupError:
        return False
    # It came after the look at /proc, so it is not the one that was asked for.
    return False


async def end(identity: ProcessIdentity, grace: float) -> None:
    """End a process: TERM, so many seconds of grace, KILL; returns when it is gone.

    A stopped one cannot hear TERM and would act first if it were woken: it is killed at once.
    No other process is ever signalled, even if it was given the same pid meanwhile.

    Raises:
        NotYoursError: it is another user's.
        CommandFailedError: the kernel does not let go of it.
    """
    try:
        # From here on the descriptor means this process, whatever becomes of the pid.
        fd = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return
    try:
        state = identity.state()
        if state == "gone":
            return
        if grace > 0 and state == "alive":
            _send(fd, signal.SIGTERM, identity.pid)
            if await _ended(fd, grace):
                return
        _send(fd, signal.SIGKILL, identity.pid)
        if not await _ended(fd, _KILL_LIMIT):
            raise CommandFailedError(
                f"process {identity.pid} is killed but does not end: it waits for a disk or a "
                "device; look at it with ps"
            )
    finally:
        os.close(fd)


def _send(fd: int, number: signal.Signals, pid: int) -> None:
    try:
        signal.pidfd_send_signal(fd, number)
    except ProcessLookupError:
        return  # It has ended by itself, which is what was wanted.
    except PermissionError:
        raise NotYoursError(
            f"process {pid} belongs to another user: ask its owner to end it"
        ) from None


async def _ended(fd: int, limit: float) -> bool:
    """Wait for a process to end, at most so many seconds."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(fd, ended.set)
    try:
        async with asyncio.timeout(limit):
            await ended.wait()
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(fd)
    return True
