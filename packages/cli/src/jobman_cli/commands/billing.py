"""``jobman billing``: what the cloud charged, by its own books."""

from typing import TYPE_CHECKING, Annotated

import typer

from jobman_cli import arguments, completion, documents, output, pictures, tables, times
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
    until: arguments.Until = None,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="WHAT",
            help="Split by day, service or user.",
            autocompletion=completion.bill_ways,
        ),
    ] = "service",
    plot: arguments.Plot = None,
    csv: arguments.Csv = False,
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
        first, last = times.between(since, until, now)
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
        front.note(f"nothing was charged {times.spoken(found.since, found.until, now)}")
        return
    rows = [(_name(found, each), each) for each in found.portions]
    rows += [("total", each) for each in found.totals]
    head = found.by.upper()
    table = output.Table(head, *_HEADS, "CURRENCY", shrink=(head,), right=_HEADS)
    for name, each in rows:
        numbers = (f"{value:,.2f}" for value in (each.net, each.cost, each.credits))
        table.add(name, *numbers, each.currency)
    front.say(
        f"charged {times.spoken(found.since, found.until, now)}",
        "",
        *table.lines(front.room, front.paint),
        "",
    )
    for text in _foot(found, now):
        front.say(*output.hanging("", text, front.room))


def _name(found: "Bill", portion: "Portion") -> str:
    return portion.name or ("(no slice of jobman's)" if found.by == "user" else output.NOTHING)


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
