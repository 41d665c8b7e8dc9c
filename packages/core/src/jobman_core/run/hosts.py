"""Do the same thing on many hosts at once."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TypeVar

from jobman_core.command import Command, Exit
from jobman_core.errors import CommandFailedError, JobmanError
from jobman_core.interfaces.host import Host

_T = TypeVar("_T")


async def on_each(
    hosts: Iterable[Host], action: Callable[[Host], Awaitable[_T]]
) -> dict[int, _T | JobmanError]:
    """Do something on all hosts at once, and give what came of it on each, errors too.

    Args:
        hosts: where.
        action: what; an error other than a :class:`JobmanError` is a bug, and is raised.
    """
    chosen = list(hosts)

    async def attempt(host: Host) -> _T | JobmanError:
        try:
            return await action(host)
        except JobmanError as error:
            return error

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(attempt(host)) for host in chosen]
    return {host.index: task.result() for host, task in zip(chosen, tasks, strict=True)}


def first_error(results: Mapping[int, _T | JobmanError]) -> JobmanError | None:
    """Give the lowest failed host's error, of its own kind and naming all hosts that failed."""
    failed = {index: result for index, result in results.items() if isinstance(result, JobmanError)}
    if not failed:
        return None
    lowest = min(failed)
    others = ", ".join(str(index) for index in sorted(failed) if index != lowest)
    also = f" (failed too: host {others})" if others else ""
    error = failed[lowest]
    name = f"host {lowest}"
    said = str(error)
    named = type(error)(f"{said if said.startswith(name) else f'{name}: {said}'}{also}")
    named.__cause__ = error
    return named


async def on_all(hosts: Iterable[Host], action: Callable[[Host], Awaitable[_T]]) -> dict[int, _T]:
    """Do something on all hosts at once; all have answered or failed when this returns.

    Raises:
        JobmanError: the first host's error, naming it.
    """
    results = await on_each(hosts, action)
    if error := first_error(results):
        raise error
    return {i: result for i, result in results.items() if not isinstance(result, JobmanError)}


async def run_checked(host: Host, command: Command, *, limit: float, what: str) -> Exit:
    """Run a command that has to end with zero.

    Args:
        host: where.
        command: what to run.
        limit: seconds, see :meth:`Host.run`.
        what: names it for people: ``the clone of …``.

    Raises:
        CommandFailedError: it did not; the message has its last lines.
        HostUnreachableError: no answer.
    """
    done = await host.run(command, limit=limit)
    if not done.ok:
        raise CommandFailedError(f"{what} ended with {done.code}: {done.tail()}")
    return done
