"""``jobman quota``: what the accounts hold, dead things too."""

from typing import TYPE_CHECKING

import typer

from jobman_cli import documents, output
from jobman_cli.front import Front, front_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobman_core.app import App
    from jobman_core.models.reap import Holding

_EXAMPLES = """
$ jobman quota
$ jobman quota --json | jq '[.[].dead] | add'
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("quota", epilog=_EXAMPLES)(quota)


def quota(ctx: typer.Context) -> None:
    """Say how many chips the accounts hold, those of dead slices too.

    Counted, by family and pricing, is what clouds list in the zones where this home has had
    slices, and in `reap.places` of jobman.yaml: others' slices too. Ends with 1 where a zone could
    not be asked.
    """
    front = front_of(ctx)

    async def body(app: "App") -> "Sequence[Holding]":
        return await app.quota()

    found = front.run(body)
    if front.json:
        front.document([documents.holding(each) for each in found])
    else:
        _show(front, found)
    if any(each.trouble for each in found):
        raise typer.Exit(1)


def _show(front: Front, found: "Sequence[Holding]") -> None:
    seen = [each for each in found if not each.trouble]
    if seen:
        front.say(*_table(front, seen))
    elif not found:
        front.say("nothing is held in the zones that this home knows")
    for each in found:
        if each.trouble:
            front.warn(f"nothing is known of {_place(each)}: {each.trouble}")
        elif each.uncounted:
            slices = output.count(each.uncounted, "slice")
            what = f"chips of {slices} of type {each.family or 'unknown'} are not counted"
            front.warn(f"{_place(each)}: {what}: jobman does not know that type")
    if any(each.dead for each in seen):
        front.note("what is dead counts against the quota until it is deleted: `jobman reap`")


def _table(front: Front, seen: "Sequence[Holding]") -> list[str]:
    table = output.Table("PLACE", "FAMILY", "PRICING", "READY", "WAITING", "DEAD", "LIMIT")
    for each in seen:
        table.add(
            _place(each),
            each.family or output.NOTHING,
            each.pricing or output.NOTHING,
            str(each.ready),
            str(each.waiting),
            output.Cell(str(each.dead), "red" if each.dead else ""),
            "not asked" if each.limit is None else str(each.limit),
        )
    return table.lines(front.room, front.paint)


def _place(held: "Holding") -> str:
    return " ".join(filter(None, (held.cloud, held.project, held.zone)))
