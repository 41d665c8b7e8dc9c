"""``jobman usage``: chip-hours, what became of them, and what they cost."""

from typing import TYPE_CHECKING, Annotated

import typer

from jobman_cli import arguments, completion, documents, output, pictures, tables, times
from jobman_cli.front import Front, front_of

if TYPE_CHECKING:
    from datetime import datetime

    from jobman_core.app import App
    from jobman_core.models.usage import Share, Usage

_EXAMPLES = """
$ jobman usage
$ jobman usage --since 30d --by accelerator
$ jobman usage --since 2025-02-01 --until 2025-02-28 --by job --mine
$ jobman usage --by day --plot usage.png
$ jobman usage --csv > usage.csv
"""
_HEADS = ("HOURS", "RUN", "PREP", "IDLE", "WAITED", "LOST", "DONE", "FAILED", "COST")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("usage", epilog=_EXAMPLES)(usage)


def usage(
    ctx: typer.Context,
    *,
    since: Annotated[
        str, typer.Option("--since", metavar="WHEN", help="From then on: 12h, 7d, 2025-03-01.")
    ] = "7d",
    until: arguments.Until = None,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="WHAT",
            help="Split by user, accelerator, job, task or day.",
            autocompletion=completion.ways,
        ),
    ] = "user",
    mine: Annotated[bool, typer.Option("--mine", help="Only what your own jobs used.")] = False,
    plot: arguments.Plot = None,
    csv: arguments.Csv = False,
) -> None:
    """Show chip-hours: what ran, what was idle, what it cost."""
    front = front_of(ctx)
    front.need_home()
    pictures.check(front, csv=csv, plot=plot)

    async def body(app: "App") -> "tuple[Usage, bytes, datetime]":
        now = front.now()
        first, last = times.between(since, until, now)
        found = await app.usage(first, last, by=by, mine=mine)
        return found, await app.chart(found) if plot else b"", now

    found, picture, now = front.run(body)
    if plot is not None:
        pictures.write(front, plot, picture)
    if front.json:
        front.document(documents.usage(found))
    elif csv:
        tables.write(front.stdout, documents.usage(found)["shares"])
    elif not found.total.empty:
        front.say(*_lines(front, found, now))
    else:
        front.note(f"nothing was used {times.spoken(found.since, found.until, now)}")
    front.note(*map(output.clean, found.notes))


def _lines(front: Front, found: "Usage", now: "datetime") -> list[str]:
    """Give the table, and below it what its numbers mean."""
    head = found.by.upper()
    # The last column would be wrapped, as sentences are: there is one more, with nothing in it.
    table = output.Table(head, *_HEADS, "", shrink=(head,), right=_HEADS)
    for share in found.shares:
        table.add(_name(found, share), *_cells(share), "")
    table.add("total", *_cells(found.total), "")
    room = front.room
    return [
        f"chip-hours {times.spoken(found.since, found.until, now)}",
        "",
        *table.lines(room, front.paint),
        "",
        *(line for text in _foot(found) for line in output.hanging("", text, room)),
    ]


def _name(found: "Usage", share: "Share") -> str:
    return f"{share.name} {share.note}" if found.by == "job" else share.name


def _cells(share: "Share") -> list[str]:
    hours = share.hours
    parts = (share.running, share.preparing, share.idle)
    return [
        _number(hours),
        *(f"{part / hours:.0%}" if hours else output.NOTHING for part in parts),
        _number(share.waiting),
        str(share.preemptions),
        str(share.finished),
        str(share.failed),
        output.NOTHING if share.cost is None else f"{share.cost:,.2f}",
    ]


def _number(value: float) -> str:
    """Write hours in about three digits."""
    for least, digits in ((100, 0), (1, 1)):
        if value >= least or value == 0:
            return f"{value:,.{digits}f}"
    return f"{value:.2f}"


def _foot(found: "Usage") -> list[str]:
    prices = found.prices
    lines = ["RUN, PREP and IDLE are parts of HOURS, which are paid for; WAITED is not."]
    if found.recovery is not None:
        took = output.span(found.recovery)
        lines.append(f"From the loss of a slice to the next start it took {took} on average.")
    of = f" of {prices.of}" if prices.of else ""
    whose = "prices" if prices.source else "the lab's own prices"
    source = f": {prices.source}" if prices.source else ""
    lines.append(f"COST is an estimate in {prices.currency}, by {whose}{of}{output.clean(source)}.")
    return lines
