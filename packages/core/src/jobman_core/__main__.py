"""What a session runs: ``python -m jobman_core HOME [JOB]``, a controller.

With a job it is that job's; without one it is the process that many jobs share.
"""

import asyncio
import contextlib
import resource
import signal
import sys
import traceback
from pathlib import Path
from typing import Final

from jobman_core.app import App, run
from jobman_core.errors import JobmanError
from jobman_core.home import Home

#: Open files: three for each host that is reached by SSH, and one process may have thousands.
_FILES: Final = 65536


def main(arguments: list[str]) -> int:
    """Drive jobs; all that is said goes to the session's log."""
    home, *jobs = arguments
    _allow_many_files()

    def say(line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    async def drive() -> None:
        me = asyncio.current_task()
        assert me is not None  # noqa: S101 - it runs in one
        for number in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, me.cancel)
        # Those who share a process have logs of their own.
        async with App(Home(Path(home)), echo=say if jobs else None) as app:
            if jobs:
                await app.drive(jobs[0])
            else:
                await app.serve(say)

    try:
        run(drive())
    except (asyncio.CancelledError, KeyboardInterrupt):
        which = jobs[0] if jobs else "--all"
        say(f"ended by a signal: what it started runs on, and `jobman resume {which}` takes it up")
        return 143
    except JobmanError as error:
        say(f"error: {error}")
        return error.exit_code
    except Exception:
        say(traceback.format_exc())
        raise
    return 0


def _allow_many_files() -> None:
    """Lift the soft limit, which is low for programs that use select(), as far as may be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
