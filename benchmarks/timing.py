"""How long things take."""

import statistics
import time
from collections.abc import Callable

ROUNDS = 7


def timed(action: Callable[[], object]) -> float:
    """Give the seconds that something takes."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def median_of(action: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Give the median of several runs, after one that is not counted."""
    action()
    return statistics.median(timed(action) for _ in range(rounds))
