"""Several things waited for at once, of which the first decides."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any


@contextlib.asynccontextmanager
async def race(*tasks: "asyncio.Task[Any]") -> AsyncIterator[None]:
    """Wait until one of these has ended, for the block to see which; none outlives the block."""
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
