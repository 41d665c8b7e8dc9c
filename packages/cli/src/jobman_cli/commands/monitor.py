"""``jobman monitor``: a live view of jobs, slices and queues."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobman_cli import completion
from jobman_cli.front import Front, front_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobman_cli.monitor.choice import Choice
    from jobman_cli.monitor.parts import Part, Scope
    from jobman_core.app import App

_EXAMPLES = """
$ jobman monitor
$ jobman monitor --mine --show jobs,queues
$ jobman monitor --once
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("monitor", epilog=_EXAMPLES)(monitor)


def monitor(
    ctx: typer.Context,
    jobs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID]...",
            help="Only these jobs, and what belongs to them.",
            show_default=False,
            autocompletion=completion.jobs,
        ),
    ] = None,
    *,
    once: Annotated[bool, typer.Option("--once", help="Print one view, and end.")] = False,
    mine: Annotated[bool, typer.Option("--mine", help="Only your own jobs.")] = False,
    every: Annotated[
        float, typer.Option(min=0.2, metavar="SECONDS", help="Between two looks, or more.")
    ] = 2.0,
    show: Annotated[
        str | None,
        typer.Option(
            metavar="PARTS",
            help="What is shown: some of jobs,slices,queues,log.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Watch jobs, slices and queues, redrawn in place.

    Keys sort, filter, open logs, stop, resume and prioritise: `?` lists them. Only what has changed
    is drawn again. Where there is no terminal, one view is printed, as --once does.
    """
    from jobman_cli.monitor.choice import load, parts_of, place_of

    front = front_of(ctx)
    front.need_home()
    place = place_of(front.env)
    choice = load(place)
    if show is not None:
        choice = _shown(choice, parts_of(show))
    live = not once and not front.json
    if live and not _terminal(front):
        front.note("no terminal to draw on: this is one view, as of --once")
        live = False

    async def body(app: "App") -> None:
        from jobman_cli.monitor.parts import Scope

        ids = frozenset(await app.resolve(jobs)) if jobs else frozenset()
        scope = Scope(user=app.user if mine else "", jobs=ids)
        parts = parts_of_home(app)
        if not live:
            await _print(front, app, parts, scope, choice)
            return
        await app.changes()
        if not app.found:
            front.note(f"no jobman home in {app.home}: `jobman create job.yaml` makes one")
            return
        from jobman_cli.monitor.live import run

        await run(app, front, parts, choice=choice, scope=scope, every=every, place=place)

    front.run(body)


def _shown(choice: "Choice", parts: "tuple[str, ...]") -> "Choice":
    import attrs

    return attrs.evolve(choice, parts=parts)


def _terminal(front: Front) -> bool:
    """Tell whether one can draw, and read keys."""
    # Textual draws on the process's own terminal, and on no other.
    own = front.stdout is sys.stdout and front.stdin is sys.stdin
    able = front.terminal and front.stdin.isatty() and front.env.get("TERM", "dumb") != "dumb"
    return own and able


def parts_of_home(app: "App") -> "Sequence[Part[Any]]":
    """Give all that can be shown of a home."""
    from jobman_cli.monitor.jobs import Jobs
    from jobman_cli.monitor.log import Log
    from jobman_cli.monitor.queues import Queues
    from jobman_cli.monitor.slices import Slices

    return (Jobs(), Slices(), Queues(app.home), Log())


async def _print(
    front: Front, app: "App", parts: "Sequence[Part[Any]]", scope: "Scope", choice: "Choice"
) -> None:
    from jobman_cli.monitor.once import document, lines

    look = await app.overview()
    now = front.now()
    shown = [part for part in parts if part.name in choice.parts]
    if front.json:
        front.document(document(look, shown, scope, now))
    elif look.jobs or look.queues:
        front.say(
            *lines(
                look,
                shown,
                scope,
                choice=choice,
                now=now,
                room=front.room,
                paint=front.paint,
            )
        )
    else:
        front.note("no jobs: `jobman create job.yaml` makes one")
