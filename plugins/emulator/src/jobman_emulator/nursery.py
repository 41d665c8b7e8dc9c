"""A tree of processes for all hosts that share this machine's process ids: nothing gets out of it.

A program (standard library only, run with ``python -I -S nursery.py FD``) and, imported, the means
to look at such a tree. The program is the *nursery*; each host has an *init* below it, forked, so
that 64 of them cost little; whatever is started on a host is below its init. All are child
subreapers: ``setsid``, double forks and emptied environments change nothing about where a process
is found. Both are asked over sockets that keep messages apart (JSON, with descriptors beside it):

- the nursery: ``{"boot": true}`` with the init's socket, answered by ``{"pid": PID}``;
  ``{"end": [PID…]}``, answered by ``{"left": N}`` once nothing of these hosts lives: 0 is proof;
- an init: ``{"id": N, "argv": …, "env": …, "cwd": …, "tty": BOOL}`` with standard input, output and
  error, answered by ``{"id": N, "status": STATUS}`` when that process has ended; a negative status
  is a signal.

A nursery whose socket closes, because the emulator has ended, ends all that is below it.
"""

# ruff: noqa: PTH123, PTH208 - pathlib would cost each fork a megabyte

import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import sys
import termios
import time
from collections.abc import Callable, Collection, Iterable
from typing import Any

#: A process id and its start time (field 22 of ``/proc/<pid>/stat``): one process until a reboot.
Process = tuple[int, int]

#: The longest message: more than the longest argument that Linux takes (128 KiB), with room.
LONGEST = 192 * 1024
#: Seconds after which ending a host is given up: only the kernel can hold a process that long.
GIVE_UP = 20.0

_PR_SET_CHILD_SUBREAPER = 36


# -- what there is ----------------------------------------------------------------------------


def _stat(pid: int) -> tuple[int, int, bool] | None:
    """Give parent, start time and whether the process is more than a zombie; None: gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    # A main thread that has ended is shown as a zombie, though other threads go on.
    lives = fields[0] not in (b"Z", b"X") or int(fields[17]) > 1
    return int(fields[1]), int(fields[19]), lives


def below(root: int, sparing: Collection[int] = ()) -> list[Process]:
    """Give all living processes below one, not itself; nor those spared and what is below them."""
    children: dict[int, list[tuple[int, int, bool]]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (stat := _stat(int(name))):
            children.setdefault(stat[0], []).append((int(name), stat[1], stat[2]))
    found, queue = [], [root]
    while queue:
        for pid, start, lives in children.get(queue.pop(), ()):
            if pid not in sparing:
                queue.append(pid)
                if lives:
                    found.append((pid, start))
    return found


# -- ending -----------------------------------------------------------------------------------


def _send(process: Process, number: int) -> None:
    """Send a signal to this very process, and to no other one that got its id since."""
    try:
        fd = os.pidfd_open(process[0])
    except ProcessLookupError:
        return
    try:
        if (stat := _stat(process[0])) is not None and stat[1] == process[1]:
            signal.pidfd_send_signal(fd, number)
    except (ProcessLookupError, PermissionError):
        return  # another user's stays, and is counted as left
    finally:
        os.close(fd)


def _end_all(find: Callable[[], Iterable[Process]]) -> int:
    """Stop, then kill what ``find`` finds until two passes find nothing; give what is left."""
    deadline = time.monotonic() + GIVE_UP
    clean, pause = 0, 0.001
    while clean < 2:  # noqa: PLR2004 - two passes, as it says
        stopped: set[Process] = set()
        while fresh := [process for process in find() if process not in stopped]:
            for process in fresh:
                _send(process, signal.SIGSTOP)
            stopped.update(fresh)
        if not stopped:
            clean += 1
            continue
        clean = 0
        for process in stopped:
            _send(process, signal.SIGKILL)
        if time.monotonic() > deadline:
            return len(stopped)
        time.sleep(pause)
        pause = min(pause * 2, 0.05)
    return 0


# -- an init ----------------------------------------------------------------------------------


def _become(order: dict[str, Any], fds: list[int]) -> None:
    """Become the program that was asked for; never returns."""
    try:
        os.setsid()
        for target, fd in enumerate(fds):
            os.dup2(fd, target)
        if order["tty"]:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            if number < signal.SIGRTMIN:
                signal.signal(number, signal.SIG_DFL)
        os.chdir(order["cwd"])
        # The first is what it is called: a shell that is called -bash is a login shell.
        os.execve(order["argv"][0], order["argv"][1:], order["env"])  # noqa: S606 - no shell
    except OSError as error:
        os.write(2, f"{error.strerror}: {error.filename or order['argv'][0]}\n".encode())
    finally:
        os._exit(127)


def _tell(channel: socket.socket, what: dict[str, object]) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # nobody asks any more
        channel.send(json.dumps(what).encode())


def _receive(channel: socket.socket, most: int) -> tuple[bytes, list[int]]:
    """Take a message and the descriptors beside it, which no program that is started inherits."""
    message, fds, _, _ = socket.recv_fds(channel, LONGEST, most)
    for fd in fds:
        os.set_inheritable(fd, False)  # recv_fds passes over MSG_CMSG_CLOEXEC
    return message, fds


def _be_init(channel: socket.socket) -> None:
    """Start what is asked for, and reap all that ends below, until the socket closes."""
    running: dict[int, int] = {}
    hear, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    while True:
        ready, _, _ = select.select([channel.fileno(), hear], [], [])
        if channel.fileno() in ready:
            message, fds = _receive(channel, 3)
            if not message:
                return
            order = json.loads(message)
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                _become(order, fds)
            running[pid] = order["id"]
            for fd in fds:
                os.close(fd)
        if hear in ready:
            os.read(hear, 4096)
        for pid, status in _reaped():
            if (number := running.pop(pid, None)) is not None:
                _tell(channel, {"id": number, "status": status})


def _reaped() -> Iterable[tuple[int, int]]:
    """Reap the children that have ended."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, os.waitstatus_to_exitcode(status)


# -- the nursery ------------------------------------------------------------------------------


def _be_subreaper() -> None:
    import ctypes  # whoever only looks does not pay for it

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _boot(control: socket.socket, fd: int) -> int:
    """Fork an init that serves this socket."""
    pid = os.fork()
    if pid:
        os.close(fd)
        return pid
    try:
        control.close()
        _be_subreaper()
        _be_init(socket.socket(fileno=fd))
    finally:
        os._exit(0)


def main(argv: list[str]) -> None:
    """Be the nursery on the socket that is open as the given descriptor."""
    control = socket.socket(fileno=int(argv[0]))
    control.set_inheritable(False)
    _be_subreaper()
    # The emulator ends by itself, and what is below here with it, however it was told to.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    inits: set[int] = set()
    while True:
        message, fds = _receive(control, 1)
        if not message:
            _end_all(lambda: below(os.getpid()))
            return
        order = json.loads(message)
        if "boot" in order:
            pid = _boot(control, fds[0])
            inits.add(pid)
            _tell(control, {"pid": pid})
        else:
            # What is below here and below no init was left by one that somebody killed.
            inits.difference_update(order["end"])
            left = _end_all(lambda: below(os.getpid(), sparing=inits))
            inits.difference_update(pid for pid, _ in _reaped())
            _tell(control, {"left": left})


if __name__ == "__main__":
    main(sys.argv[1:])
