"""Running the live view: signals, what the core logs, and what is kept of a person's choice."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobman_cli.monitor.app import Monitor
from jobman_cli.monitor.choice import Choice, save
from jobman_cli.monitor.parts import Part, Scope
from jobman_cli.monitor.terminal import Terminal

if TYPE_CHECKING:
    from jobman_cli.front import Front
    from jobman_core.app import App


async def run(
    app: "App",
    front: "Front",
    parts: Sequence[Part[Any]],
    *,
    choice: Choice,
    scope: Scope,
    every: float,
    place: Path,
) -> None:
    """Show a home until somebody has seen enough; the terminal is left as it was.

    Raises:
        KeyboardInterrupt: it was ended by Ctrl-C.
    """
    monitor = Monitor(
        app, front, parts, choice=choice, scope=scope, every=every, driver_class=Terminal
    )
    with _signals(monitor), _quiet(monitor):
        await monitor.run_async(mouse=False)
    if monitor.choice != choice:
        save(place, monitor.choice)
    if monitor.fault is not None:
        raise monitor.fault
    if monitor.interrupted:
        raise KeyboardInterrupt


@contextlib.contextmanager
def _signals(monitor: Monitor) -> Iterator[None]:
    """End in order when told to, or when the terminal is gone."""
    loop = asyncio.get_running_loop()
    ends = {
        signal.SIGINT: monitor.action_interrupt,
        signal.SIGTERM: monitor.exit,
        signal.SIGHUP: monitor.exit,
    }
    for number, end in ends.items():
        loop.add_signal_handler(number, end)
    try:
        yield
    finally:
        for number in ends:
            loop.remove_signal_handler(number)


class _Said(logging.Handler):
    """Says at the bottom of the view what would have gone into the middle of it."""

    def __init__(self, monitor: Monitor) -> None:
        super().__init__()
        self._monitor = monitor

    def emit(self, record: logging.LogRecord) -> None:
        """Say it, from whichever thread it comes."""
        text = record.getMessage()
        self._monitor.call_later(self._monitor.say, text, "yellow")


@contextlib.contextmanager
def _quiet(monitor: Monitor) -> Iterator[None]:
    """Keep what the core logs off the terminal."""
    logger = logging.getLogger("jobman_core")
    before = logger.handlers[:]
    logger.handlers[:] = [_Said(monitor)]
    try:
        yield
    finally:
        logger.handlers[:] = before
