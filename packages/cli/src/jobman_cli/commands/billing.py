"""``jobman billing``: what the cloud charged, by its own books."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jobman_cli import completion, documents, output, pictures, tables, times
from jobman_cli.front import Front, front_of

if TYPE_CHECKING:
    from datetime import datetime

    from jobman_core.app import App
    from jobman_core.models.billing import Bill, Lacking, Portion

_EXAMPLES = """
$ jobman billing
$ jobman billing --since 7d --by day
$ jobman billing --since 2026-11-01 --until 2026-11-30 --by user
$ jobman billing --plot costs.png
$ jobman billing --csv > costs.csv
"""
_HEADS = ("NET", "COST", "CREDITS")
_EXPERIMENTAL = (
    "`jobman billing` is experimental: it has not been tried with a real export; compare its sums "
    "with https://console.cloud.google.com/billing"
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("billing", epilog=_EXAMPLES)(billing)


def billing(
    ctx: typer.Context,
    *,
    since: Annotated[
        str, typer.Option("--since", metavar="WHEN", help="From then on: 12h, 7d, 2026-11-01.")
    ] = "30d",
    until: Annotated[
        str | None,
        typer.Option(
            "--until", metavar="WHEN", help="To the end of that day, or to that moment; else now."
        ),
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="WHAT",
            help="Split by day, service or user.",
            autocompletion=completion.bill_ways,
        ),
    ] = "service",
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE.png", help="Draw it as a chart as well.")
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print it for a spreadsheet.")] = False,
) -> None:
    """Say what Google charged, credits taken off (experimental).

    Read is the export of Cloud Billing into BigQuery that clouds.gcp.billing_table of jobman.yaml
    names; what to set up is said where it is not there. A user is whose label a slice has.
    """
    from jobman_core.models.billing import Bill, Lacking

    front = front_of(ctx)
    pictures.check(front, csv=csv, plot=plot)

    async def body(app: "App") -> "tuple[Bill | Lacking, bytes, datetime]":
        now = front.now()
        first = times.moment(since, now, "--since")
        last = times.moment(until, now, "--until", whole=True) if until else now
        found = await app.billing(first, last, by=by)
        return found, await app.bill_chart(found) if plot and isinstance(found, Bill) else b"", now

    found, picture, now = front.run(body)
    if isinstance(found, Lacking):
        raise typer.Exit(_tell_steps(front, found))
    front.warn(_EXPERIMENTAL)
    if plot is not None:
        pictures.write(front, plot, picture)
    if front.json:
        front.document(documents.bill(found))
    elif csv:
        tables.write(front.stdout, [documents.portion(each) for each in found.portions])
    else:
        _show(front, found, now)


def _tell_steps(front: Front, found: "Lacking") -> int:
    """Say what is lacking, and what to do step by step; give what the command ends with."""
    from jobman_core.errors import CloudError

    code = front.fail(CloudError(found.what))
    front.note(
        *(f"{number}. {step}" for number, step in enumerate(map(output.clean, found.steps), 1))
    )
    front.note("more of it is in docs/billing.md")
    return code


def _show(front: Front, found: "Bill", now: "datetime") -> None:
    if not found.totals:
        front.note(f"nothing was charged {_span(found, now)}")
        return
    rows = [(_name(found, each), each) for each in found.portions]
    rows += [("total", each) for each in found.totals]
    cells = [[f"{value:,.2f}" for value in (e.net, e.cost, e.credits)] for _, e in rows]
    sizes = [max(len(row[i]) for row in (_HEADS, *cells)) for i in range(len(_HEADS))]
    heads = [head.rjust(size) for head, size in zip(_HEADS, sizes, strict=True)]
    head = found.by.upper()
    table = output.Table(head, *heads, "CURRENCY", shrink=(head,))
    for (name, each), row in zip(rows, cells, strict=True):
        numbers = (cell.rjust(size) for cell, size in zip(row, sizes, strict=True))
        table.add(name, *numbers, each.currency)
    front.say(f"charged {_span(found, now)}", "", *table.lines(front.room, front.paint), "")
    for text in _foot(found, now):
        front.say(*output.hanging("", text, front.room))


def _name(found: "Bill", portion: "Portion") -> str:
    return portion.name or ("(no slice of jobman's)" if found.by == "user" else output.NOTHING)


def _span(found: "Bill", now: "datetime") -> str:
    until = "now" if found.until >= now else f"{found.until:%Y-%m-%d %H:%M}"
    return f"from {found.since:%Y-%m-%d %H:%M} to {until}"


def _foot(found: "Bill", now: "datetime") -> list[str]:
    """Say what the numbers mean, and how good they are."""
    lines = ["NET is what is paid: COST and CREDITS, which take off. Taxes are not in it."]
    if found.written is not None:
        at = output.moment(found.written, now)
        lines.append(f"Google wrote its books last at {at}; the latest hours are not in them.")
    if len(found.totals) > 1:
        lines.append("Currencies are not added up.")
    lines.append(f"Read were {output.size(found.read)} of {output.joined(found.sources)}.")
    return lines
