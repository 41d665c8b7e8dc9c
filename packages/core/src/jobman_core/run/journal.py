"""What a controller says: ``job.log``, ``tpu.log``, ``queue.log``, and whoever watches."""

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import attrs

from jobman_core.clock import Clock, to_text
from jobman_core.errors import printable
from jobman_core.group import opener
from jobman_core.home import make_inside
from jobman_core.run.scribe import Scribe

#: Seconds after which a reason that stays is told once more.
REMIND_EVERY: Final = 600.0
_REASONS: Final = 20


@attrs.define
class Journal:
    """Writes lines with their time; a full disk stops the writing, never the work."""

    folder: Path
    clock: Clock
    scribe: Scribe
    #: Gets every line as well; in a session this is what ends up in ``job.log``.
    echo: Callable[[str], None] | None = None
    #: Whether ``job.log`` is written here; a session writes it itself.
    own_log: bool = True
    #: What was said to be tried again, and when to say it once more.
    _reasons: dict[str, float] = attrs.field(factory=dict, init=False)

    def job(self, text: str) -> None:
        """Say something about the job as a whole."""
        self._say((), text)

    def retrying(self, text: str, *, of_slice: bool = False) -> None:
        """Say why something is tried again and again: not each time while the reason stays.

        Args:
            text: the reason.
            of_slice: it is about the slice, rather than the job as a whole.
        """
        now = self.clock.monotonic()
        if now >= self._reasons.get(text, -math.inf):
            # A reason with a number in it may be new each time: the oldest are forgotten.
            while len(self._reasons) >= _REASONS:
                del self._reasons[next(iter(self._reasons))]
            self._reasons[text] = now + REMIND_EVERY
            (self.tpu if of_slice else self.job)(text)

    def tpu(self, text: str) -> None:
        """Say something about the slice."""
        self._say(("tpu.log",), text)

    def queue(self, text: str) -> None:
        """Say something about the queue and its tasks."""
        self._say(("queue.log",), text)

    def _say(self, names: tuple[str, ...], text: str) -> None:
        # What clouds and hosts say is in it, and a session shows it on a terminal as it is.
        text = "\n    ".join(map(printable, text.expandtabs().split("\n")))
        line = f"{to_text(self.clock.now())} {text}"
        for name in (*names, "job.log") if self.own_log else names:
            self.scribe.soon(partial(self._append, name, line))
        if self.echo is not None:
            self.echo(line)

    def _append(self, name: str, line: str) -> None:
        try:
            make_inside(self.folder)
            with open(self.folder / name, "a", encoding="utf-8", opener=opener) as file:
                file.write(line + "\n")
        except OSError as error:
            if self.echo is not None:
                self.echo(f"{self.folder / name} cannot be written: {error.strerror}")
