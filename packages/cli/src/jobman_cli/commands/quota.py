"""``jobman quota``: what the accounts hold, dead things too, and how much they may."""

from typing import TYPE_CHECKING, Annotated

import typer

from jobman_cli import documents
from jobman_cli.front import Front, front_of

if TYPE_CHECKING:
    from jobman_core.app import App
    from jobman_core.models.quota import Quota

_EXAMPLES = """
$ jobman quota
$ jobman quota --zone 'us-*' --family v6e
$ jobman quota --all
$ jobman quota --json | jq '[.chips[].dead] | add'
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("quota", epilog=_EXAMPLES)(quota)


def quota(
    ctx: typer.Context,
    *,
    zone: Annotated[
        str, typer.Option("--zone", metavar="GLOB", help="Only zones like this: 'us-*'.")
    ] = "*",
    family: Annotated[
        str, typer.Option("--family", metavar="FAMILY", help="Only these TPUs: v6e.")
    ] = "",
    everything: Annotated[
        bool, typer.Option("--all", help="Also where nothing is held, line by line.")
    ] = False,
) -> None:
    """Say how many chips the accounts hold, and how many they may.

    Counted, by zone, family and pricing, is what clouds list: others' slices too. External IPs,
    instances and disks follow, by region. Ends with 1 where a zone could not be asked.
    """
    front = front_of(ctx)

    async def body(app: "App") -> "Quota":
        return await app.quota()

    from jobman_cli import quota_views

    shown = quota_views.chosen(front.run(body), zone, family, everything=everything)
    if front.json:
        front.document(documents.quota(shown))
    else:
        _show(front, shown, everything=everything)
    if any(each.trouble for each in shown.holdings):
        raise typer.Exit(1)


def _show(front: Front, shown: "Quota", *, everything: bool) -> None:
    from jobman_cli import quota_views

    tables = (
        quota_views.chips(shown, everything=everything),
        quota_views.free(shown, everything=everything),
        quota_views.others(shown),
    )
    lines = [table.lines(front.room, front.paint) for table in tables if table.rows]
    if lines:
        front.say(f"accounts: {', '.join(quota_views.accounts(shown))}")
    for table in lines:
        front.say("", *table)
    if not lines and not any(each.trouble for each in shown.holdings):
        front.say("nothing is held in the zones that were asked")
    for warning in quota_views.warnings(shown):
        front.warn(warning)
    for note in quota_views.notes(shown):
        front.note(note)
