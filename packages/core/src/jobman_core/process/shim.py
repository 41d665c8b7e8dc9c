"""The small program that starts a session's command; of the standard library alone.

It is run as ``python -I -S -X utf8 shim.py`` and never holds a secret in its arguments:

``shim.py detached``
    reads what to start from its standard input, and reports on its standard output. It ends when
    the first moments are over; the command then belongs to init.
``shim.py pane FILE FIFO``
    reads what to start from FILE, deletes it, and reports to FIFO. It stays as the command's
    parent in a terminal, and shows there what the command writes to its log.

What to start is JSON: name, argv, env, cwd, log, record, settle. The report is one JSON object:
``offset`` (where this start begins in the log), ``error`` (why it did not start, or null), ``code``
(how it ended within ``settle`` seconds, as a shell gives it; null while it lives).
"""

import json
import os
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
#: Number of the field of /proc/PID/stat that has the start time, from the state (field 3) on.
_START = 19
#: A report has to fit into a pipe, however long a path may be.
_LONGEST_ERROR = 1000


def read_boot_id() -> str:
    """Give the id that the kernel made at this machine's start."""
    return _BOOT_ID.read_text(encoding="ascii").strip()


def read_stat(pid: int) -> tuple[str, int]:
    """Give a process's state letter and its start time in clock ticks since boot.

    Source: proc(5), fields 3 and 22. The name before them may hold spaces and parentheses.

    Raises:
        OSError: there is no such process, or it is hidden.
    """
    raw = Path(f"/proc/{pid}/stat").read_bytes()
    fields = raw[raw.rindex(b")") + 1 :].split()
    return fields[0].decode("ascii"), int(fields[_START])


def main(arguments: list[str]) -> None:
    """Start the command and report how that went."""
    if arguments[0] == "detached":
        _detached(json.load(sys.stdin))
    else:
        _pane(Path(arguments[1]), Path(arguments[2]))


def _detached(spec: dict[str, Any]) -> None:
    pid, report = _start(spec, group=True)
    if pid is not None:
        report["code"] = _first_moments(pid, spec["settle"])
    _tell(1, report)


def _pane(file: Path, fifo: Path) -> None:
    # Open from the start, so that whoever asked hears of it if this process dies first. Not
    # blocking: they may be gone.
    try:
        out = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        out = os.open(os.devnull, os.O_WRONLY)
    spec = json.loads(file.read_bytes())
    file.unlink()
    # Keys that are typed here are for the command; this one lives as long as it does.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pid, report = _start(spec, group=False)
    viewer = None if pid is None else _view(spec["log"], report["offset"])
    if pid is not None:
        report["code"] = _first_moments(pid, spec["settle"])
    _tell(out, report)
    if pid is not None and report["code"] is None:
        os.waitpid(pid, 0)
    if viewer is not None:
        os.kill(viewer, signal.SIGKILL)
        os.waitpid(viewer, 0)


def _tell(out: int, report: dict[str, Any]) -> None:
    # Whoever asked may be gone by now; the command is none the worse for it.
    with suppress(OSError):
        os.write(out, json.dumps(report).encode())
    os.close(out)


def _start(spec: dict[str, Any], *, group: bool) -> tuple[int | None, dict[str, Any]]:
    """Start the command; gives its pid once it has been exec'ed, and the report so far."""
    report: dict[str, Any] = {"offset": 0, "error": None, "code": None}
    try:
        log = os.open(spec["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    except OSError as error:
        report["error"] = f"cannot write the log {spec['log']}: {error.strerror}"
        return None, report
    report["offset"] = os.fstat(log).st_size
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become(spec, log, tell, group=group)
    os.close(tell)
    with os.fdopen(told, "rb") as pipe:
        # The pipe closes when the command is exec'ed.
        error_text = pipe.read().decode("utf-8", "replace")[:_LONGEST_ERROR]
    if error_text:
        os.waitpid(pid, 0)
        os.write(log, f"jobman: {error_text}\n".encode("utf-8", "replace"))
        report["error"] = error_text
    os.close(log)
    return (None if error_text else pid), report


def _become(spec: dict[str, Any], log: int, tell: int, *, group: bool) -> NoReturn:
    """Be the command, in the new process; or tell why not, and end."""
    argv = [*spec["argv"]]
    doing = "record the process"
    try:
        if group:
            os.setpgid(0, 0)
        _record(Path(spec["record"]), spec["name"])
        doing = f"enter the folder {spec['cwd']}"
        os.chdir(spec["cwd"])
        doing = f"start {argv[0]}"
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        _reset_signals()
        os.execvpe(argv[0], argv, spec["env"])  # noqa: S606 - no shell is wanted here
    except Exception as error:  # noqa: BLE001 - whatever it is, the starter has to hear of it
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        os.write(tell, f"cannot {doing}: {reason}".encode("utf-8", "replace"))
    finally:
        os._exit(127)


def _record(path: Path, name: str) -> None:
    """Write down who this process is, before it is anything that must be found again."""
    pid = os.getpid()
    record = {"name": name, "pid": pid, "start": read_stat(pid)[1], "boot_id": read_boot_id()}
    aside = path.with_name(f"{path.name}.{pid}")
    file = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(file, json.dumps(record).encode())
    os.close(file)
    aside.replace(path)


def _reset_signals() -> None:
    """Undo what Python, nohup or a shell ignored or blocked: the command gets the defaults."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        # The C library keeps some real-time signals to itself.
        with suppress(OSError):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _first_moments(pid: int, seconds: float) -> int | None:
    """Give the exit code of a child that ends within so many seconds; None: it lives."""
    fd = os.pidfd_open(pid)
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    ended = poller.poll(seconds * 1000)
    os.close(fd)
    if not ended:
        return None
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return code if code >= 0 else 128 - code


def _view(log: str, offset: int) -> int:
    """Show in this terminal what comes into the log.

    A program of its own does, since a terminal that someone has halted (Ctrl-S) must not halt
    the command.
    """
    pid = os.fork()
    if pid == 0:
        try:
            argv = ["tail", "-f", "-c", f"+{offset + 1}", "--", log]
            os.execvp(argv[0], argv)  # noqa: S606 - no shell is wanted here
        finally:
            os._exit(127)
    return pid


if __name__ == "__main__":
    main(sys.argv[1:])
