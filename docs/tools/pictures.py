"""Draws what people see, for the pages: terminals, and the chart of ``usage --plot``.

    python -m docs.tools.pictures [NAME...]

The commands are the real ones, at a terminal of 100 columns. All but the demo, which is played,
look at a home that is made up: the same each time.
"""

import asyncio
import io
import os
import pty
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from docs.tools import scene
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from jobman_cli.front import Front
from jobman_cli.main import execute
from jobman_core.app import App

PICTURES: Final = Path(__file__).parents[1] / "pictures"
WIDTH: Final = 100
#: Where the home lies, as the pictures say.
HOME: Final = "/home/ada/lab"

#: Dark on a dark ground, in colours that can be read by those who see few.
_COLOURS: Final = (
    *((40, 44, 52), (224, 108, 117), (152, 195, 121), (229, 192, 123)),
    *((97, 175, 239), (198, 120, 221), (86, 182, 194), (220, 223, 228)),
)
_THEME: Final = TerminalTheme(
    (24, 26, 31),
    (220, 223, 228),
    [*_COLOURS],
    [(120, 127, 140), *_COLOURS[1:7], (255, 255, 255)],
)
#: Fonts from elsewhere, and addresses.
_OUTSIDE: Final = re.compile(r"(?s)\s*@font-face \{.*?\}|\s*<!--.*?-->")
_CONTROL: Final = re.compile(r"\x1b\[[0-9;?]*[A-LN-Za-ln-z]|\r")


class _Screen(io.StringIO):
    """A terminal of which only what is written is kept."""

    def isatty(self) -> bool:
        return True


def command(*argv: str) -> Callable[[Path], Coroutine[Any, Any, str]]:
    """Draw what a command prints in the home of the scene."""

    async def draw(home: Path) -> str:
        return await asyncio.to_thread(_printed, home, argv)

    return draw


def _printed(home: Path, argv: tuple[str, ...]) -> str:
    made = scene.Scene(home)
    asyncio.run(made.play())
    screen = _Screen()
    front = Front(
        stdin=_Screen(),
        stdout=screen,
        stderr=screen,
        env={"COLUMNS": str(WIDTH), "TERM": "xterm-256color", "HOME": str(home)},
        open_app=lambda *_, **__: App(made.home, user="ada", clock=made.clock),
        now=lambda: scene.NOW,
    )
    code = execute([*argv], front)
    seen = screen.getvalue()
    assert code == 0, seen  # noqa: S101 - the scene has what is asked for
    return terminal(f"jobman {' '.join(argv)}", seen.replace(str(home), HOME))


async def monitor(home: Path) -> str:
    """Draw the live view."""
    from jobman_cli.commands.monitor import parts_of_home
    from jobman_cli.monitor.app import Monitor
    from jobman_cli.monitor.choice import Choice
    from jobman_cli.monitor.parts import Scope

    made = scene.Scene(home)
    await made.play()
    front = Front(
        stdin=_Screen(), stdout=_Screen(), stderr=_Screen(), env={}, now=lambda: scene.NOW
    )
    async with App(made.home, user="ada", clock=made.clock) as app:
        await app.changes()
        view = Monitor(app, front, parts_of_home(app), choice=Choice(), scope=Scope(), every=2.0)
        view.ansi_theme_dark = _THEME
        async with view.run_test(size=(WIDTH, 24)) as pilot:
            await pilot.pause(1)
            return plain(view.export_screenshot(title="jobman monitor").replace(str(home), HOME))


async def demo(home: Path) -> str:
    """Play the demo, and draw how it ends."""
    return await asyncio.to_thread(_demo, home)


def _demo(home: Path) -> str:
    master, slave = pty.openpty()
    env = {**os.environ, "COLUMNS": str(WIDTH), "LINES": "60", "TERM": "xterm-256color"}
    argv = ["setsid", "--ctty", "--wait", sys.executable, "-m", "jobman_cli", "demo"]
    with subprocess.Popen(argv, stdin=slave, stdout=slave, stderr=slave, env=env, cwd=home):
        os.close(slave)
        seen = b""
        with suppress(OSError):  # Nobody is left at the other end: Linux says EIO.
            while data := os.read(master, 65536):
                seen += data
    os.close(master)
    # Each frame begins with the title: the last one is what stays.
    last = seen.decode().rpartition("jobman demo:")
    return terminal("jobman demo", "".join(last[1:]))


def terminal(title: str, seen: str) -> str:
    """Draw what was written to a terminal."""
    console = Console(
        record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    lines = _CONTROL.sub("", seen).rstrip("\n")
    console.print(Text.from_ansi(lines), overflow="crop", no_wrap=True, crop=True)
    return plain(console.export_svg(title=title, theme=_THEME, unique_id="jobman"))


def plain(svg: str) -> str:
    """Leave out what a picture would fetch from elsewhere."""
    svg = _OUTSIDE.sub("", svg).replace("Fira Code", "monospace")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


async def chart(home: Path) -> bytes:
    """Draw the chart that a command makes."""
    made = home / "chart.png"
    await command("usage", "--by", "job", "--plot", str(made))(home)
    return made.read_bytes()


#: What is drawn, by the names of the files.
DRAWN: Final[Mapping[str, Callable[[Path], Coroutine[Any, Any, str | bytes]]]] = {
    "list.svg": command("list"),
    "queue.svg": command("queue", scene.TASKS),
    "show.svg": command("show", "6"),
    "usage.svg": command("usage", "--by", "user"),
    "usage-plot.png": chart,
    "monitor.svg": monitor,
    "demo.svg": demo,
}


def main() -> None:
    """Draw those that are named, or all."""
    for name in sys.argv[1:] or DRAWN:
        with tempfile.TemporaryDirectory() as folder:
            drawn: str | bytes = asyncio.run(DRAWN[name](Path(folder)))
        data = drawn.encode() if isinstance(drawn, str) else drawn
        (PICTURES / name).write_bytes(data)
        print(f"docs/pictures/{name}: {len(data) // 1024} KiB")


if __name__ == "__main__":
    main()
