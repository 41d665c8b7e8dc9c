"""Keep all that a command leaves behind in one tree, and end such a tree without a remainder.

Used in two ways. Imported, it finds and ends processes. As a program (standard library only, run
with ``python -I -S``) it starts a command below itself::

    keeper.py run SLICE_FOLDER CWD ARGV…      the command's exit status is its own
    keeper.py end IDENTITY GRACE              prints how many processes are left: 0 is proof

``run`` becomes three processes: the *caller*, which waits for the command and leaves with it; the
*guard*; below the guard the *keeper*; below the keeper the command. Guard and keeper are child
subreapers, so whatever the command leaves behind (``setsid``, double forks, an emptied
environment) becomes a child of the keeper and can always be found. If either of the two is killed
the other ends the whole tree. Both leave when nothing is below them any more.

A tree is ended by SIGSTOP to all of it until nobody new turns up, then SIGKILL, until two passes
find nothing. Every signal goes through a pidfd whose start time was compared: a process that is
not in the tree is never signalled, also when process ids are used again.
"""

# ruff: noqa: PTH108, PTH110, PTH118, PTH123, PTH208 - pathlib would cost each start 10 ms

import os
import signal
import sys
import time
from collections.abc import Callable, Iterable

#: A process id and its start time (field 22 of ``/proc/<pid>/stat``): one process until a reboot.
Process = tuple[int, int]

#: The environment variable that tells a command the identity of its guard.
KEEPER = "JOBMAN_KEEPER"
#: In a slice's folder: one empty file, named by identity, for each root of a tree of processes.
ROOTS = "roots"
#: In a slice's folder while commands may start there.
UP = "up"

#: Seconds after which ending a tree is given up: only the kernel can hold a process that long.
GIVE_UP = 20.0

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_WAKE = (signal.SIGCHLD, signal.SIGUSR1, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


# -- what runs on this machine ----------------------------------------------------------------


def boot() -> str:
    """Give the beginning of this boot's id: process ids mean nothing over a reboot."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read(8)


def _read(path: str) -> bytes:
    """Read a file of /proc in one go; empty if the process is gone or not ours to see."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        parts = []
        while part := os.read(fd, 65536):
            parts.append(part)
        return b"".join(parts)
    except OSError:
        return b""
    finally:
        os.close(fd)


def _stat(pid: int) -> tuple[int, int, bool] | None:
    """Give parent, start time and whether the process is more than a zombie; None: gone."""
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    if not fields:
        return None
    # A main thread that has ended is shown as a zombie, though other threads go on.
    lives = fields[0] not in (b"Z", b"X") or int(fields[17]) > 1
    return int(fields[1]), int(fields[19]), lives


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def below(root: Process) -> list[Process]:
    """Give all living processes below one, not itself; none if that one is gone."""
    table = {pid: stat for pid in _pids() if (stat := _stat(pid))}
    if root[0] not in table or table[root[0]][1] != root[1]:
        return []
    children: dict[int, list[int]] = {}
    for pid, (parent, _, _) in table.items():
        children.setdefault(parent, []).append(pid)
    found, queue = [], list(children.get(root[0], ()))
    while queue:
        pid = queue.pop()
        queue.extend(children.get(pid, ()))
        if table[pid][2]:
            found.append((pid, table[pid][1]))
    return found


def carrying(entry: bytes) -> list[Process]:
    """Give all living processes that have this ``NAME=value`` in the environment that they got."""
    wanted = b"\0" + entry + b"\0"
    return [
        (pid, stat[1])
        for pid in _pids()
        if wanted in b"\0" + _read(f"/proc/{pid}/environ") and (stat := _stat(pid)) and stat[2]
    ]


def alive(process: Process) -> bool:
    """Tell whether this very process lives."""
    stat = _stat(process[0])
    return stat is not None and stat[1] == process[1] and stat[2]


def send(process: Process, number: int) -> None:
    """Send a signal to this very process, and to no other one that got its id since."""
    try:
        fd = os.pidfd_open(process[0])
    except ProcessLookupError:
        return
    try:
        stat = _stat(process[0])
        if stat is not None and stat[1] == process[1]:
            signal.pidfd_send_signal(fd, number)
    except (ProcessLookupError, PermissionError):
        return  # another user's stays, and is counted as left
    finally:
        os.close(fd)


def name_of(process: Process) -> str:
    """Write an identity that holds for ever."""
    return f"{process[0]}.{process[1]}.{boot()}"


def from_name(name: str) -> Process | None:
    """Read an identity; None: not one, or of another boot, so that it is gone."""
    pid, _, rest = name.partition(".")
    start, _, when = rest.partition(".")
    if not (pid.isdigit() and start.isdigit()) or when != boot():
        return None
    return int(pid), int(start)


def myself() -> Process:
    """Give the calling process."""
    pid = os.getpid()
    stat = _stat(pid)
    return pid, stat[1] if stat else 0


# -- ending -----------------------------------------------------------------------------------


def end_all(find: Callable[[], Iterable[Process]]) -> int:
    """End what ``find`` finds until two passes find nothing; give the number that is left."""
    deadline = time.monotonic() + GIVE_UP
    clean, pause = 0, 0.001
    while clean < 2:  # noqa: PLR2004 - two passes, as the module says
        stopped: set[Process] = set()
        while fresh := [process for process in find() if process not in stopped]:
            for process in fresh:
                send(process, signal.SIGSTOP)
            stopped.update(fresh)
        if not stopped:
            clean += 1
            continue
        clean = 0
        for process in stopped:
            send(process, signal.SIGKILL)
        if time.monotonic() > deadline:
            return len(stopped)
        time.sleep(pause)
        pause = min(pause * 2, 0.05)
    return 0


def end_tree(root: Process) -> int:
    """End a process and all below it; give the number that is left."""
    if not alive(root):
        return 0
    # A subreaper that is stopped still gets the orphans, and starts nothing.
    send(root, signal.SIGSTOP)
    left = end_all(lambda: below(root))
    send(root, signal.SIGKILL)
    return left + end_all(lambda: [root] if alive(root) else ())


def end_gently(root: Process, grace: float) -> int:
    """Ask all below a guard to end (SIGTERM), wait for so many seconds, then end the tree."""
    if not alive(root):
        return 0
    for process in below(root):
        send(process, signal.SIGTERM)
        # One that is stopped would hear it only when it goes on.
        send(process, signal.SIGCONT)
    deadline, pause = time.monotonic() + grace, 0.005
    # With nothing below it the keeper leaves, and then the guard.
    while alive(root) and time.monotonic() < deadline:
        time.sleep(pause)
        pause = min(pause * 1.5, 0.2)
    return end_tree(root)


# -- keeping ----------------------------------------------------------------------------------


def _prctl(option: int, value: int) -> None:
    import ctypes  # whoever only looks does not pay for it

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _register(folder: str) -> str:
    """Leave the name of this process where whoever ends the slice looks."""
    path = os.path.join(folder, ROOTS, name_of(myself()))
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    return path


def _forget(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return  # the slice is gone, and its folder with it


def _say(pipe: int, text: bytes) -> None:
    try:
        os.write(pipe, text)
    except BrokenPipeError:
        pass  # whoever asked has gone, and the command went on
    finally:
        os.close(pipe)


def _let_go() -> None:
    """Hold none of the caller's files open, nor a folder that may be removed."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)
    os.chdir("/")


def _start(folder: str, argv: list[str], identity: str) -> None:
    """Become the command; never returns."""
    code = 127
    # Not os.environ: Python adds to its own under some locales.
    given = (item.partition(b"=") for item in _read("/proc/self/environ").split(b"\0") if item)
    env = {name: value for name, _, value in given}
    env[KEEPER.encode()] = identity.encode()
    try:
        os.setsid()
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            if number < signal.SIGRTMIN:
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.chdir(folder)
        os.execvpe(argv[0], argv, env)  # noqa: S606 - no shell on purpose
    except PermissionError as error:
        code = 126
        os.write(2, f"{error.strerror}: {argv[0]}\n".encode(errors="surrogateescape"))
    except OSError as error:
        os.write(
            2, f"{error.strerror}: {error.filename or argv[0]}\n".encode(errors="surrogateescape")
        )
    finally:
        os._exit(code)


def _reap(wanted: int) -> tuple[bool, int | None]:
    """Reap what has ended; tell whether any child is left, and the status of the wanted one."""
    status = None
    while True:
        try:
            pid, raw = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False, status
        if pid == 0:
            return True, status
        if pid == wanted:
            status = os.waitstatus_to_exitcode(raw)


def _keep(guard: Process, folder: str, cwd: str, argv: list[str], tell: int) -> None:
    """Be the keeper: start the command, tell how it ended, stay while anything is below."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGUSR1)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    me, mine = myself(), _register(folder)
    if os.getppid() != guard[0] or not os.path.exists(os.path.join(folder, UP)):
        return
    command = os.fork()
    if command == 0:
        _start(cwd, argv, name_of(guard))
    _let_go()
    while True:
        more, status = _reap(command)
        if status is not None:
            _say(tell, b"%d" % (status if status >= 0 else 128 - status))
            command = -1  # some orphan may get its id
        if not more:
            return
        if os.getppid() != guard[0]:
            end_all(lambda: below(me))
            _forget(mine)
            continue
        signal.sigwait(_WAKE)


def _guard(folder: str, cwd: str, argv: list[str], tell: int) -> None:
    """Be the guard: stay while the keeper does, then end what it may have left."""
    os.setsid()
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    mine = _register(folder)
    me = myself()
    keeper = os.fork()
    if keeper == 0:
        try:
            _keep(me, folder, cwd, argv, tell)
        finally:
            os._exit(0)
    stat = _stat(keeper)
    theirs = os.path.join(folder, ROOTS, name_of((keeper, stat[1] if stat else 0)))
    os.close(tell)
    _let_go()
    more, status = _reap(keeper)
    while more and status is None:
        signal.sigwait(_WAKE)
        more, status = _reap(keeper)
    end_all(lambda: below(me))
    _forget(theirs)
    _forget(mine)


def run(folder: str, cwd: str, argv: list[str]) -> None:
    """Run a command below a keeper and leave with its status; killed by SIGKILL: not known."""
    hear, tell = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, _WAKE)
    if os.fork() == 0:
        try:
            os.close(hear)
            _guard(folder, cwd, argv, tell)
        except FileNotFoundError:
            pass  # the slice is gone: the caller hears nothing, which says so
        except OSError as error:
            os.write(2, f"no keeper for the command: {error}\n".encode())
        finally:
            os._exit(0)
    os.close(tell)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _WAKE)
    status = os.read(hear, 16)
    if not status:
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(int(status))


def main(args: list[str]) -> None:
    """Do what the command line says."""
    if args[0] == "run":
        run(args[1], args[2], args[3:])
    guard = from_name(args[1])
    left = 0 if guard is None else end_gently(guard, float(args[2]))
    sys.stdout.write(f"{left}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
