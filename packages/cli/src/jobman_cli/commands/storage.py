"""``jobman storage``: what buckets hold, by folder where they are counted."""

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from jobman_cli import arguments, documents, output, pictures, tables
from jobman_cli.front import Front, front_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from jobman_core.app import App
    from jobman_core.models.storage import Amount, BucketSize

_EXAMPLES = """
$ jobman storage
$ jobman storage my-bucket other-bucket
$ jobman storage my-bucket --exact
$ jobman storage --csv > storage.csv
"""
#: What a state is called at the head of a column; a column of nothing is left out.
_OTHERS = {"noncurrent": "OLD", "soft-deleted": "DELETED", "upload": "UPLOADS"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("storage", epilog=_EXAMPLES)(storage)


def storage(
    ctx: typer.Context,
    *,
    buckets: Annotated[
        list[str] | None, typer.Argument(metavar="[BUCKET]...", help="Which; none: all.")
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Count every object now, by top-level folder.")
    ] = False,
    csv: arguments.Csv = False,
) -> None:
    """Say what buckets hold, with --exact by folder.

    Without a name these are all buckets of the project, and those that jobs of this home mount.
    Ends with 1 where something could not be known.
    """
    front = front_of(ctx)
    pictures.check(front, csv=csv, plot=None)
    from jobman_cli.counting import Counter

    counter = Counter(front)

    async def body(app: "App") -> "Sequence[BucketSize]":
        async with counter.counting(app, buckets or ()) if exact else nullcontext():
            return await app.storage(buckets or (), exact=exact, tell=counter.hear)

    try:
        found = front.run(body)
    except KeyboardInterrupt:
        if counter.sizes:
            _print(front, counter.sizes, csv=csv)
            front.note("this is what was counted until you broke it off")
        raise
    _print(front, found, csv=csv)
    if any(size.trouble for size in found):
        raise typer.Exit(1)


def _print(front: Front, found: "Sequence[BucketSize]", *, csv: bool) -> None:
    if front.json:
        front.document([documents.bucket_size(size) for size in found])
    elif csv:
        tables.write(front.stdout, [row for size in found for row in documents.amounts(size)])
    else:
        _show(front, found)
    for trouble, buckets in _troubles(found).items():
        about = [bucket for bucket in buckets if bucket and bucket not in trouble]
        front.warn(f"{output.joined(about)}: {trouble}" if about else trouble)
    unknown = [size.bucket for size in found if size.as_of is None and not size.trouble]
    if unknown:
        what = f"nothing is known yet of {output.joined(unknown)}: empty, or less than a day old"
        front.note(f"{what}: --exact counts what is there")


def _troubles(found: "Sequence[BucketSize]") -> "Mapping[str, Sequence[str]]":
    """Give what went wrong, each once, with the buckets that it is about."""
    troubles: dict[str, list[str]] = {}
    for size in found:
        if size.trouble:
            troubles.setdefault(size.trouble, []).append(size.bucket)
    return troubles


def _show(front: Front, found: "Sequence[BucketSize]") -> None:
    seen = [size for size in found if size.as_of is not None]
    if seen:
        front.say(*_table(front, seen))
    elif not found:
        front.say("there are no buckets")
    moments = [size.as_of for size in seen if size.as_of is not None and not size.exact]
    if moments:
        front.note(_age(min(moments), front.now()))


def _age(at: "datetime", now: "datetime") -> str:
    ago = output.span((now - at).total_seconds())
    measured = "Cloud Monitoring measures buckets once a day and told this"
    return f"{measured} {ago} ago: --exact counts them now, by folder"


def _table(front: Front, seen: "Sequence[BucketSize]") -> list[str]:
    """Give a line for each bucket, and below it one for each of its folders."""
    everything = [amount for size in seen for amount in size.amounts]
    states = {str(amount.state) for amount in everything}
    others = {state: head for state, head in _OTHERS.items() if state in states}
    rows: list[tuple[str, Sequence[Amount], str]] = []
    for size in seen:
        partly = " (so far)" if size.partial else ""
        rows.append((f"{size.bucket}{partly}", size.amounts, size.location or output.NOTHING))
        rows += [
            (f"  {folder or '(in no folder)'}", amounts, "")
            for folder, amounts in size.folders().items()
        ]
    if len(seen) > 1:
        rows.append(("total", everything, ""))
    numbers = ("OBJECTS", "SIZE", *others.values())
    table = output.Table(
        *("BUCKET", *numbers, "CLASSES", "PLACE"), shrink=("BUCKET", "CLASSES"), right=numbers
    )
    for name, amounts, place in rows:
        classes = sorted({each.storage_class for each in amounts if each.storage_class})
        table.add(name, *_cells(amounts, others), ", ".join(classes), place)
    return table.lines(front.room, front.paint)


def _cells(amounts: "Sequence[Amount]", others: "Mapping[str, str]") -> list[str]:
    from jobman_core.models.storage import ObjectState, total

    live = total(amounts)
    more = [total(amounts, ObjectState(state)) for state in others]
    return [f"{live.objects:,}", output.size(live.bytes), *(output.size(m.bytes) for m in more)]
