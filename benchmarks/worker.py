"""One of many processes that take tasks from one queue: ``python -m benchmarks.worker HOME``.

It says that it is ready, waits for a line, works until there is no task left, and tells how many
tasks it had, or what went wrong.
"""

import asyncio
import sys
from pathlib import Path

from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.clock import SystemClock
from jobman_core.interfaces.backend import Context
from jobman_core.testing.store_contract.scene import OFFER, QUEUE, SUCCEEDED, Scene


async def main(home: Path) -> None:
    """Work."""
    store = SqliteStore(Context(home, "", SystemClock()))
    print("ready", flush=True)
    sys.stdin.readline()
    await store.open()
    scene = Scene(store)
    lease = await scene.worker(queue=QUEUE)
    done = 0
    while claim := await scene.claim(lease, OFFER):
        await scene.end(lease, claim, SUCCEEDED)
        done += 1
    print(done, flush=True)
    await store.aclose()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
