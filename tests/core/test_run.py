"""How a front end's coroutine is run."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

from jobman_core.app import run


async def true() -> int | None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    return await process.wait()


def test_processes_are_started_and_waited_for() -> None:
    assert run(true()) == 0


def test_loops_of_other_threads_can_start_processes_afterwards() -> None:
    run(true())
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(asyncio.run, true()).result() == 0
