"""A log as lines for the terminal: pure."""

import re
from typing import TYPE_CHECKING, Final

from jobman_cli import output

if TYPE_CHECKING:
    from jobman_core.models.view import LogChunk

#: What programs colour their output with, and move the cursor.
_SEQUENCES: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])"
)
_TAB: Final = 8
#: So many bytes are kept of a line that has not ended: a progress bar may never end one.
_LONGEST: Final = 65_536


def shown(line: str) -> str:
    """Give a line as a terminal would have left it, with nothing in it that steers one."""
    plain = _SEQUENCES.sub("", line.removesuffix("\r"))
    # A progress bar writes over itself: what counts is what it wrote last.
    last = plain.rpartition("\r")[2] or plain
    return output.clean(last.expandtabs(_TAB))


class Splitter:
    """Makes lines of what hosts write, whole ones, each with its host's index if it has to be."""

    def __init__(self) -> None:
        """Begin."""
        self._attempt: tuple[str | None, int] | None = None
        self._open: dict[int, bytes] = {}
        self._workers: set[int] = set()

    def lines(self, chunk: "LogChunk") -> list[str]:
        """Give the lines that a chunk completes."""
        if chunk.notice:
            return [output.clean(chunk.notice)]
        found: list[str] = []
        if (chunk.task, chunk.number) != self._attempt:
            found += self.close()
            self._attempt = (chunk.task, chunk.number)
            if chunk.number:
                what = "command" if chunk.task is None else f"task {chunk.task}"
                found.append(f"==> {output.clean(what)}, run {chunk.number} <==")
        self._workers.add(chunk.worker)
        *whole, rest = (self._open.get(chunk.worker, b"") + chunk.data).split(b"\n")
        self._open[chunk.worker] = rest[-_LONGEST:]
        return found + [self._named(chunk.worker, line) for line in whole]

    def begun(self) -> list[str]:
        """Give the lines that no newline has ended yet."""
        return [self._named(worker, line) for worker, line in self._open.items() if line]

    def close(self) -> list[str]:
        """Give the same, and be done with them."""
        found = self.begun()
        self._open = {}
        self._workers = set()
        return found

    def _named(self, worker: int, line: bytes) -> str:
        text = shown(line.decode("utf-8", "replace"))
        return f"[{worker}] {text}" if len(self._workers) > 1 else text
