"""How long a cloud is waited for: on the job's own clock, and with a word for no answer."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from jobman_core.clock import Clock
from jobman_core.errors import TransientCloudError

_T = TypeVar("_T")


async def in_time(asked: Coroutine[Any, Any, _T], clock: Clock, limit: float, who: str) -> _T:
    """Wait for an answer, for at most so many seconds.

    Raises:
        TransientCloudError: there was none.
    """
    answer = asyncio.ensure_future(asked)
    bell = asyncio.ensure_future(clock.sleep(limit))
    try:
        await asyncio.wait((answer, bell), return_when=asyncio.FIRST_COMPLETED)
        if answer.done():
            return answer.result()
    finally:
        bell.cancel()
        answer.cancel()
    raise TransientCloudError(f"{who} gave no answer within {limit:g} s")
