"""The live view in a real terminal."""

import asyncio
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.clock import SystemClock
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import Store
from jobman_core.testing.store_contract.scene import Scene

pytestmark = [pytest.mark.e2e, pytest.mark.tmux]


class Pane:
    """A shell in a tmux with a socket of its own."""

    def __init__(self, socket: Path, home: Path) -> None:
        self._socket = socket
        env = {"JOBMAN_HOME": home, "XDG_STATE_HOME": home / "state", "PS1": "$ ", "TZ": "UTC"}
        words = [f"{name}={shlex.quote(str(value))}" for name, value in env.items()]
        shell = f"env {' '.join(words)} bash --norc --noprofile"
        self.ask("new-session", "-d", "-x", "100", "-y", "30", "-c", str(home), shell)

    def ask(self, *arguments: str) -> str:
        command = ("tmux", "-S", str(self._socket), "-f", os.devnull, *arguments)
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def type(self, text: str) -> None:
        self.ask("send-keys", "-l", text)

    def press(self, *keys: str) -> None:
        self.ask("send-keys", *keys)

    def screen(self) -> str:
        return self.ask("capture-pane", "-p")

    async def sees(self, *texts: str) -> None:
        for _ in range(150):
            seen = self.screen()
            if all(text in seen for text in texts):
                return
            await asyncio.sleep(0.1)
        pytest.fail(f"never seen: {texts}; but\n{seen}")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    Home(tmp_path).state.mkdir(parents=True)
    store = SqliteStore(Context(tmp_path, "", SystemClock()))
    await store.open()
    yield store
    await store.aclose()


@pytest.fixture
def pane(tmp_path: Path) -> Iterator[Pane]:
    folder = Path(tempfile.mkdtemp(prefix="jm-", dir="/tmp"))
    pane = Pane(folder / "socket", tmp_path)
    yield pane
    pane.ask("kill-server")
    shutil.rmtree(folder)


async def test_a_change_is_seen_in_place_and_the_terminal_is_left_as_it_was(
    store: Store, pane: Pane, tmp_path: Path
) -> None:
    job = await Scene(store).job(user="ada")
    monitor = f"{shlex.quote(sys.executable)} -m jobman_cli monitor --every 0.2"
    pane.type(f"clear; stty -a > before; {monitor}\n")
    await pane.sees(job, "DEAD", "q quit")
    await Scene(store).cancel(job)
    await pane.sees("1 CANCELLED", "q quit")
    # Ctrl-Z gives the shell back, and `fg` the view, as it is by then.
    pane.press("C-z")
    await pane.sees("Stopped")
    other = await Scene(store).job(user="ada")
    pane.type("clear; fg; echo ended with $?\n")
    await pane.sees(other, "q quit")
    pane.press("q")
    await pane.sees("ended with 0")
    pane.type("clear; stty -a | diff before - && echo the same\n")
    await pane.sees("the same")
    pane.type(f"clear; {monitor}; echo ended with $?\n")
    await pane.sees(other, "q quit")
    pane.press("C-c")
    await pane.sees("ended with 130")
    pane.type("clear; stty -a | diff before - && echo the same\n")
    await pane.sees("the same")
