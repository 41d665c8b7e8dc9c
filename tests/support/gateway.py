"""What machines of their own reach on this one: a git server, and who counts their signs of life.

Both listen on one address: this machine's end of the hosts' own network.
"""

import contextlib
import socket
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import attrs

#: Past what the system allows everybody (socket(7)); Python has no name for it.
_SO_RCVBUFFORCE: Final = 33


class _GitServer(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


class _GitHandler(socketserver.BaseRequestHandler):
    """Serves one client as ``git daemon`` does."""

    def __init__(self, folder: Path, *args: object) -> None:
        self._argv = ["git", "daemon", "--inetd", "--export-all", f"--base-path={folder}"]
        super().__init__(*args)  # type: ignore[arg-type]

    def handle(self) -> None:
        # Hosts that are preempted hang up in the middle.
        subprocess.run(
            self._argv,
            stdin=self.request,
            stdout=self.request,
            stderr=subprocess.DEVNULL,
            check=False,
        )


@contextlib.contextmanager
def git_server(address: str, folder: Path) -> Iterator[str]:
    """Serve the repositories below a folder to everybody who reaches an address; give the URL."""
    with _GitServer((address, 0), partial(_GitHandler, folder)) as server:
        thread = threading.Thread(target=server.serve_forever, name="git server")
        thread.start()
        try:
            yield f"git://{address}:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@attrs.frozen
class Sign:
    """A sign of life of one run of a task."""

    task: str
    attempt: int
    job: str
    what: str


@attrs.define
class Witness:
    """Hears what tasks say of themselves, in the order in which they say it."""

    signs: list[Sign] = attrs.field(factory=list)

    def seen(self, task: str, attempt: int, what: str) -> Sign | None:
        """Give the first such sign."""
        wanted = (task, attempt, what)
        signs = (sign for sign in self.signs if (sign.task, sign.attempt, sign.what) == wanted)
        return next(signs, None)

    def overlaps(self) -> list[tuple[Sign, Sign]]:
        """Give the signs of life of runs after which a later run of the same task had begun."""
        newest: dict[str, Sign] = {}
        found = []
        for sign in self.signs:
            last = newest.setdefault(sign.task, sign)
            if sign.attempt < last.attempt:
                found.append((last, sign))
            else:
                newest[sign.task] = sign
        return found


@contextlib.contextmanager
def witness(address: str) -> Iterator[tuple[Witness, int]]:
    """Listen for signs of life, ``TASK ATTEMPT JOB WHAT`` a datagram; give who does, and the port.

    Programs on hosts of their own have no file in common that they could lock.
    """
    heard = Witness()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear:
        # Hundreds of hosts speak at once, and this thread has to wait for its turn.
        ear.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 8 * 2**20)
        ear.bind((address, 0))

        def listen() -> None:
            while said := ear.recv(1000).decode().split():
                heard.signs.append(Sign(said[0], int(said[1]), said[2], said[3]))

        thread = threading.Thread(target=listen, name="witness")
        thread.start()
        try:
            yield heard, ear.getsockname()[1]
        finally:
            ear.sendto(b"", ear.getsockname())
            thread.join()
