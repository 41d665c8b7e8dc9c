"""``jobman reap``: delete what is dead at the clouds, and what no job owns."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from jobman_cli import arguments, documents, output, several
from jobman_cli.front import Front, front_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobman_core.app import App
    from jobman_core.models.reap import Dead, Reaped

_EXAMPLES = """
$ jobman reap --dry-run
$ jobman reap
$ jobman reap --yes --json | jq -r '.found[] | .name + " " + .fate'
"""
#: What becomes of something, as people read it, and its colour.
_FATES: Final = {
    "noted": ("noted", "yellow"),
    "due": ("would be deleted", "yellow"),
    "deleted": ("deleted", "green"),
    "reported": ("not ours", "dim"),
    "kept": ("kept", "dim"),
    "refused": ("not deleted", "red"),
}
#: What somebody wants to hear of who is told of nothing else.
_NEWS: Final = ("due", "deleted", "refused")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("reap", epilog=_EXAMPLES)(reap)


def reap(
    ctx: typer.Context,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be deleted, and delete nothing.")
    ] = False,
    all_: Annotated[
        bool, typer.Option("--all", help="Delete what is dead and not of this home as well.")
    ] = False,
    yes: arguments.Yes = False,
) -> None:
    """Delete what is dead at the clouds, and what no job owns.

    Lost and failed slices hold quota until they are deleted. A look only notes what it finds; what
    was found by an earlier look too, some minutes before, is deleted. Asks before it deletes.
    """
    front = front_of(ctx)

    async def body(app: "App") -> "Reaped | None":
        doing = "looking at the zones of this home"
        if not (dry_run or yes):
            seen = await several.patiently(front, app.reap(dry_run=True, all=all_), doing)
            due = [each.name for each in seen.found if each.fate == "due"]
            if not due:
                return seen
            if not front.ask(f"delete {output.joined(due)}?"):
                return None
        return await several.patiently(front, app.reap(dry_run=dry_run, all=all_), doing)

    found = front.run(body)
    if found is None:
        raise typer.Exit(1)
    _tell(front, found)
    if found.unseen or any(each.fate == "refused" for each in found.found):
        raise typer.Exit(1)


def _tell(front: Front, found: "Reaped") -> None:
    if front.json:
        front.document(documents.reaped(found))
    elif shown := [each for each in found.found if not front.quiet or each.fate in _NEWS]:
        front.say(*_table(front, shown))
    elif found.looked:
        front.note(f"nothing is dead in {output.joined(found.looked)}")
    elif not found.unseen:
        front.note("no zone to look at: no job of this home has had a slice yet")
    for zone, why in found.unseen:
        front.warn(f"zone {zone} could not be looked at, and nothing was done there: {why}")
    if any(each.fate == "noted" for each in found.found):
        front.note(f"what is noted is deleted by `{front.program} reap` after that time")
    if any(each.fate == "reported" for each in found.found):
        front.note(f"`{front.program} reap --all` deletes what is not of this home too")


def _table(front: Front, found: "Sequence[Dead]") -> list[str]:
    table = output.Table("NAME", "ZONE", "WHOSE", "FATE", "WHY", shrink=("NAME", "ZONE", "WHOSE"))
    for each in found:
        word, colour = _FATES[each.fate]
        table.add(each.name, each.zone, _whose(each), output.Cell(word, colour), _why(front, each))
    return table.lines(front.room, front.paint)


def _whose(dead: "Dead") -> str:
    words = [dead.owner or "", f"job {dead.job}" if dead.job else ""]
    return ", ".join(filter(None, words)) or output.NOTHING


def _why(front: Front, dead: "Dead") -> str:
    """Say why it is of no use, and what is to be known of its fate."""
    if dead.trouble:
        return f"{dead.why}; {dead.trouble}"
    if dead.due is None:
        return dead.why
    then = output.moment(dead.due, front.now())
    return f"{dead.why}; to be deleted from {then} on" if dead.ours else dead.why
