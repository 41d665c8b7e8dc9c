"""What a session runs: ``python -m jobman_core HOME JOB``, the controller of one job."""

import asyncio
import signal
import sys
import traceback
from pathlib import Path

from jobman_core.app import App, run
from jobman_core.errors import JobmanError
from jobman_core.home import Home


def main(arguments: list[str]) -> int:
    """Drive one job; all that is said goes to the session's log."""
    home, job = arguments

    def say(line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    async def drive() -> None:
        me = asyncio.current_task()
        assert me is not None  # noqa: S101 - it runs in one
        for number in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, me.cancel)
        async with App(Home(Path(home)), echo=say) as app:
            await app.drive(job)

    try:
        run(drive())
    except (asyncio.CancelledError, KeyboardInterrupt):
        say(f"ended by a signal: what it started runs on, and `jobman resume {job}` takes it up")
        return 143
    except JobmanError as error:
        say(f"error: {error}")
        return error.exit_code
    except Exception:
        say(traceback.format_exc())
        raise
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
