"""Asking with a limit: whatever becomes of a check-up is something to tell."""

import asyncio
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Awaitable, Mapping, Sequence
from typing import Final

from jobman_core.command import Exit
from jobman_core.errors import ConfigError, JobmanError, TransientCloudError
from jobman_core.models.checkup import Checkup, Health

#: Seconds for one group of check-ups, as those of a backend.
LIMIT: Final = 30.0
#: Seconds for a program of this machine that only has to look.
PROGRAM_LIMIT: Final = 10.0

#: What a check-up may come to: nothing where there is nothing to look at.
Found = Checkup | Sequence[Checkup] | None


async def ask(name: str, asked: Awaitable[Found], limit: float = LIMIT) -> Sequence[Checkup]:
    """Wait for check-ups; what raises, or gives no answer in time, is one as well.

    Args:
        name: what is looked at, where it does not come to say so itself.
        asked: gives them.
        limit: seconds.
    """
    try:
        async with asyncio.timeout(limit):
            found = await asked
    except TimeoutError:
        return [Checkup.unknown(name, f"no answer within {limit:g} s")]
    except ConfigError as error:
        return [Checkup.broken(name, str(fault)) for fault in error.faults]
    except TransientCloudError as error:
        return [Checkup.of_error(name, error, Health.UNKNOWN)]
    except JobmanError as error:
        return [Checkup.of_error(name, error)]
    except PermissionError as error:
        told = f"{error.filename} cannot be looked at: {error.strerror}"
        return [Checkup.broken(name, told, "check the permissions of it and of its folder")]
    except Exception as error:  # noqa: BLE001 - any plugin, any fault
        return [Checkup.unknown(name, f"the look failed: {type(error).__name__}: {error}")]
    if found is None:
        return []
    return [found] if isinstance(found, Checkup) else found


async def ask_all(*asked: tuple[str, Awaitable[Found]]) -> tuple[Checkup, ...]:
    """Wait for all of them at once; give what they came to, in their order."""
    found = await asyncio.gather(*(ask(name, each) for name, each in asked))
    return tuple(checkup for each in found for checkup in each)


async def said(*argv: str, env: Mapping[str, str] | None = None) -> Exit | None:
    """Run a program of this machine that only looks; None: there is no such program.

    Args:
        argv: its command.
        env: its environment; None: this process's.

    Raises:
        TimeoutError: it gives no answer.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, env=env, start_new_session=True
        )
    except (FileNotFoundError, PermissionError):
        return None
    try:
        async with asyncio.timeout(PROGRAM_LIMIT):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return Exit(process.returncode or 0, out, err)
