"""A page that is played: its blocks one after the other, at a terminal, as its reader would.

A block of YAML whose first line is a comment with a file's name is written to that file. In a
block ``console`` each line after ``$`` is typed; the lines below it are what is to be seen then.
These hold in shape: their words, in order, in lines in their order; a number stands for any number,
and ``…`` for anything. ``^C`` as the last of them is pressed once the others were seen, and what
follows ``[y/N]`` is the answer to that question. What only looks is typed again until it shows
what the page says, which is how people wait. Blocks ``sh`` are for a machine or an account that a
test has not, and are not played.
"""

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import attrs

#: The pages of ``docs/`` that are.
PLAYED = ("start.md", "laptop-to-tpu.md", "queue-mode.md")

#: Seconds until what is to be seen has been seen.
PATIENCE = 60.0
WIDTH = 100

_BLOCK = re.compile(r"(?ms)^( *)```(yaml|console)\n(.*?)^ *```$")
_LOOKS = re.compile(
    r"jobman (list|show|usage|quota|emulator status|queue( \S+\.yaml)?$|logs (?!.*-f\b))"
)
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


@attrs.frozen
class Written:
    """A file that the page shows."""

    name: str
    text: str


@attrs.frozen
class Typed:
    """A command that the page shows, and what it shows below it."""

    line: str
    shown: tuple[str, ...]

    def fits(self, seen: str) -> bool:
        """Whether all that is shown, but for keys, has been seen."""
        lines = iter(_CONTROL.sub("", seen).splitlines())
        wanted = [words for line in self.shown if line != "^C" and (words := _words(line))]
        return all(any(_within(words, line) for line in lines) for words in wanted)


def _words(line: str) -> list[str]:
    line = re.sub(r"(\[y/N\]).*", r"\1", line)
    return [re.sub(r"\d+", "0", word) for word in line.split() if "…" not in word]


def _within(words: list[str], line: str) -> bool:
    there = iter(_words(line))
    return all(word in there for word in words)


def steps(page: Path) -> Iterator[Written | Typed]:
    """Give what a reader of a page does, in its order."""
    for indent, language, block in _BLOCK.findall(page.read_text("utf-8")):
        text = re.sub(rf"(?m)^{indent}", "", block)
        if language == "console":
            for command in re.split(r"(?m)^\$ ", text)[1:]:
                line, *shown = command.rstrip("\n").split("\n")
                yield Typed(re.sub(r"\s+# .*", "", line), tuple(shown))
        elif name := re.match(r"# (\S+\.yaml)\b.*\n", text):
            yield Written(name[1], text)


class Reader:
    """Someone who follows a page, in a folder, with an environment that lasts from line to line."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        """Sit down in a folder."""
        self.folder = folder
        self._kept = folder.parent / "environment"
        self._env = {
            **env,
            "PATH": f"{Path(sys.executable).parent}:{env['PATH']}",
            "TERM": "xterm",
            "COLUMNS": str(WIDTH),
            "LINES": "40",
        }

    def follow(self, page: Path) -> None:
        """Do all that a page says; it has to look as the page shows it."""
        for step in steps(page):
            if isinstance(step, Written):
                (self.folder / step.name).write_text(step.text, "utf-8")
            else:
                self._see(step)

    def _see(self, step: Typed) -> None:
        deadline = time.monotonic() + PATIENCE
        while True:
            # What is typed a moment before the end has its time as well.
            status, seen = self.type(step, max(deadline, time.monotonic() + 20))
            right = step.fits(seen) and status in ((130,) if "^C" in step.shown else (0,))
            if right:
                return
            again = _LOOKS.match(step.line) and time.monotonic() < deadline
            assert again, f"$ {step.line} ended with {status}:\n{seen}"
            time.sleep(0.3)

    def type(self, step: Typed, deadline: float) -> tuple[int, str]:
        """Type a line at a terminal; give what it ended with and what was seen."""
        # The next line's shell has what this one has left: variables, and the folder.
        script = f'cd "$1"; [ ! -e "$2" ] || . "$2"\n{step.line}\n'
        script += 'status=$?; { export -p; printf "cd %q\\n" "$PWD"; } >"$2"; exit $status'
        master, slave = pty.openpty()
        argv = ["setsid", "--ctty", "--wait", "bash", "-c", script, "-"]
        process = subprocess.Popen(
            [*argv, str(self.folder), str(self._kept)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=self._env,
        )
        os.close(slave)
        try:
            seen = self._watch(step, master, deadline)
        finally:
            os.close(master)
        return process.wait(), seen

    def _watch(self, step: Typed, master: int, deadline: float) -> str:
        seen, answered, pressed = "", 0, False
        answers = re.findall(r"\[y/N\] *(\S+)", "\n".join(step.shown))
        while time.monotonic() < deadline:
            if select.select([master], [], [], 0.1)[0]:
                try:
                    seen += os.read(master, 65536).decode("utf-8", "replace")
                except OSError:  # Nobody is left at the other end: Linux says EIO.
                    break
            if seen.count("[y/N]") > answered and answered < len(answers):
                os.write(master, answers[answered].encode() + b"\n")
                answered += 1
            if "^C" in step.shown and not pressed and step.fits(seen):
                os.write(master, b"\x03")
                pressed = True
        else:
            os.write(master, b"\x03")
        return seen
