"""What a controller says: ``job.log``, ``tpu.log``, ``queue.log``, and whoever watches."""

from collections.abc import Callable
from pathlib import Path

import attrs

from jobman_core.clock import Clock, to_text


@attrs.define
class Journal:
    """Writes lines with their time; a full disk stops the writing, never the work."""

    folder: Path
    clock: Clock
    #: Gets every line as well; in a session this is what ends up in ``job.log``.
    echo: Callable[[str], None] | None = None
    #: Whether ``job.log`` is written here; a session writes it itself.
    own_log: bool = True

    def job(self, text: str) -> None:
        """Say something about the job as a whole."""
        line = self._line(text)
        if self.own_log:
            self._append("job.log", line)
        if self.echo is not None:
            self.echo(line)

    def tpu(self, text: str) -> None:
        """Say something about the slice."""
        self._append("tpu.log", self._line(text))
        self.job(text)

    def queue(self, text: str) -> None:
        """Say something about the queue and its tasks."""
        self._append("queue.log", self._line(text))
        self.job(text)

    def _line(self, text: str) -> str:
        return f"{to_text(self.clock.now())} {text}".replace("\n", "\n    ")

    def _append(self, name: str, line: str) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / name).open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError as error:
            if self.echo is not None:
                self.echo(f"{self.folder / name} cannot be written: {error.strerror}")
