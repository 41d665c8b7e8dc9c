"""The emulator's side of the nursery: hosts on which programs are started and ended."""

import asyncio
import json
import os
import socket
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from jobman_emulator import nursery

#: Seconds that the nursery may take to answer, more than it takes to give up on an end.
_PATIENCE = nursery.GIVE_UP + 10.0


class Init:
    """What all programs of one host are below."""

    def __init__(self, pid: int, channel: socket.socket) -> None:
        """Listen to the init of a process id; its socket is ours from now on."""
        self.pid = pid
        self._channel = channel
        self._running: dict[int, asyncio.Future[int]] = {}
        self._started = 0
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(channel, self._hear)

    async def run(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: Path,
        fds: Sequence[int],
        *,
        tty: bool = False,
    ) -> int:
        """Run a program in a session of its own, and give its status; negative: a signal.

        Args:
            argv: the program's path, what it is called, and its arguments.
            env: all of its environment.
            cwd: the folder that it starts in.
            fds: its standard input, output and error. They are closed here once they are there.
            tty: the first is a terminal that the program shall control.

        Raises:
            ConnectionError: the host is gone.
            OSError: the command is too long.
        """
        self._started += 1
        number = self._started
        ended: asyncio.Future[int] = self._loop.create_future()
        order = {"id": number, "argv": [*argv], "env": {**env}, "cwd": str(cwd), "tty": tty}
        self._running[number] = ended
        try:
            if self._channel.fileno() < 0:
                raise ConnectionResetError("the host is gone")
            await _send(self._channel, order, fds)
        except OSError:
            del self._running[number]
            raise
        finally:
            for fd in set(fds):
                os.close(fd)
        return await ended

    def close(self) -> None:
        """Hear of it no more: whoever waits for a program learns that the host is gone."""
        if self._channel.fileno() < 0:
            return
        self._loop.remove_reader(self._channel)
        self._channel.close()
        for ended in self._running.values():
            if not ended.done():
                ended.set_exception(ConnectionResetError("the host is gone"))
        self._running.clear()

    def _hear(self) -> None:
        try:
            message = self._channel.recv(nursery.LONGEST)
        except BlockingIOError:
            return
        except ConnectionError:
            message = b""
        if not message:
            self.close()
            return
        answer = json.loads(message)
        ended = self._running.pop(answer["id"])
        if not ended.done():
            ended.set_result(answer["status"])


class Inits:
    """All inits of one emulator, below one nursery that is started when it is first needed."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._process: asyncio.subprocess.Process | None = None
        self._control: socket.socket | None = None
        self._asking = asyncio.Lock()
        self._inits: set[int] = set()

    async def boot(self) -> Init:
        """Start the init of one more host."""
        ours, theirs = _pair()
        with theirs:
            answer = await self._ask({"boot": True}, [theirs.fileno()])
        self._inits.add(answer["pid"])
        return Init(answer["pid"], ours)

    async def end(self, inits: Iterable[Init]) -> None:
        """End hosts: when this returns nothing of them lives.

        Raises:
            OSError: something cannot be ended.
        """
        ending = {init.pid: init for init in inits}
        if not ending:
            return
        answer = await self._ask({"end": [*ending]}, [])
        self._inits.difference_update(ending)
        for init in ending.values():
            init.close()
        if answer["left"]:
            raise OSError(f"{answer['left']} processes of the emulator's hosts cannot be ended")

    def processes(self) -> int:
        """Count the living processes of all hosts, without the inits."""
        if self._process is None:
            return 0
        return sum(pid not in self._inits for pid, _ in nursery.below(self._process.pid))

    async def aclose(self) -> None:
        """End all hosts, and the nursery."""
        if self._control is not None and self._process is not None:
            self._control.close()
            await asyncio.wait_for(self._process.wait(), _PATIENCE)
        self._control = self._process = None
        self._inits.clear()

    async def _ask(self, what: Mapping[str, object], fds: Sequence[int]) -> dict[str, int]:
        async with self._asking:
            if self._control is None:
                self._control = await self._start()
            await _send(self._control, what, fds)
            loop = asyncio.get_running_loop()
            answer = await asyncio.wait_for(
                loop.sock_recv(self._control, nursery.LONGEST), _PATIENCE
            )
        if not answer:
            raise ConnectionResetError("the process that keeps the emulator's hosts was killed")
        found: dict[str, int] = json.loads(answer)
        return found

    async def _start(self) -> socket.socket:
        ours, theirs = _pair()
        with theirs:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", nursery.__file__, str(theirs.fileno())),
                pass_fds=[theirs.fileno()],
                stdin=asyncio.subprocess.DEVNULL,
                # Ctrl-C is for the emulator.
                start_new_session=True,
                cwd="/",
            )
        return ours


def _pair() -> tuple[socket.socket, socket.socket]:
    """Give the ends of a connection that keeps messages apart; ours does not block."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * nursery.LONGEST)
    ours.setblocking(False)
    return ours, theirs


async def _send(channel: socket.socket, what: Mapping[str, object], fds: Sequence[int]) -> None:
    """Send one message, waiting while there is no room for it."""
    message = json.dumps(what).encode()
    while True:
        try:
            socket.send_fds(channel, [message], fds)
        except BlockingIOError:
            await asyncio.sleep(0.005)
        else:
            return
