"""The terminal, as Textual drives it."""

import sys
from typing import Any

from textual.drivers.linux_driver import LinuxDriver


class Terminal(LinuxDriver):
    """Draws where results go: Textual itself would draw on standard error.

    Without a mouse, so that people select and copy as everywhere.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - Textual's own
        """Take what Textual gives."""
        super().__init__(*args, **{**kwargs, "mouse": False})
        assert sys.__stdout__ is not None  # noqa: S101 - the command draws on terminals alone
        self._file = sys.__stdout__

    def _run_input_thread(self) -> None:
        """Read keys until the end; a terminal that went away is the end, and no error."""
        try:
            self.run_input_thread()
        except OSError:
            self._app.call_later(self._app.exit)
