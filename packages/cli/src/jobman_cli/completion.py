"""What the shell completes: ids of jobs and tasks, names of plugins. Silent whatever happens."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from jobman_cli.front import front_of

if TYPE_CHECKING:
    from jobman_core.app import App

#: A value, and what the shell shows beside it.
Offers = list[tuple[str, str]]


def _offer(ctx: typer.Context, body: Callable[["App"], Awaitable[Offers]]) -> Offers:
    try:
        return front_of(ctx).run(body)
    except Exception:  # noqa: BLE001 - words in the middle of a command line help nobody
        return []


def jobs(ctx: typer.Context, incomplete: str) -> Offers:
    """Offer the ids of jobs that begin like this, or end with it."""

    async def body(app: "App") -> Offers:
        return [
            (view.id, f"{view.name} {view.status}")
            for view in await app.list()
            if view.id.startswith(incomplete)
        ]

    return _offer(ctx, body)


def tasks(ctx: typer.Context, incomplete: str) -> Offers:
    """Offer the ids of the tasks of the queue that the command line names."""
    given = ctx.params.get("file") or ctx.params.get("queue")

    async def body(app: "App") -> Offers:
        view = await app.queue(Path(given) if given else None)
        return [
            (task.id, str(task.status)) for task in view.tasks if task.id.startswith(incomplete)
        ]

    return _offer(ctx, body)


def plugins(ctx: typer.Context, incomplete: str) -> Offers:
    """Offer the names of plugins."""

    async def body(app: "App") -> Offers:
        return [(row.name, row.kind) for row in app.plugins() if row.name.startswith(incomplete)]

    return _offer(ctx, body)


def ways(ctx: typer.Context, incomplete: str) -> Offers:  # noqa: ARG001 - typer passes it
    """Offer the ways to split a report."""
    from jobman_core.models.usage import WAYS

    return [(way, "") for way in WAYS if way.startswith(incomplete)]


def bill_ways(ctx: typer.Context, incomplete: str) -> Offers:  # noqa: ARG001 - the same
    """Offer the ways to split a bill."""
    from jobman_core.models.billing import BILL_WAYS

    return [(way, "") for way in BILL_WAYS if way.startswith(incomplete)]
