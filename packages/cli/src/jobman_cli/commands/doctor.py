"""``jobman doctor``: what jobman needs, how it stands, and what mends it."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from jobman_cli import documents, output, several
from jobman_cli.front import Front, front_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobman_core.app import App
    from jobman_core.models.checkup import Checkup, Examined

_EXAMPLES = """
$ jobman doctor
$ jobman doctor --offline
$ jobman doctor job.yaml
$ jobman doctor --json | jq -r '.[] | select(.health == "broken") | .remedy'
"""
#: How something stands, as people read it, and its colour.
_WORDS: Final = {
    "well": ("ok", "green"),
    "doubt": ("check", "yellow"),
    "broken": ("BROKEN", "red"),
    "unknown": ("unknown", "magenta"),
}
_WORD: Final = max(len(word) for word, _ in _WORDS.values())
_INDENT: Final = "  "
#: Names that are longer push what follows to the right.
_LONGEST_NAME: Final = 20


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor", epilog=_EXAMPLES)(doctor)


def doctor(
    ctx: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[JOB.yaml...]",
            help="Look at what these job files need, too.",
            show_default=False,
        ),
    ] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Ask nothing of the network.")] = False,
) -> None:
    """Say what this machine, home and account lack, with remedies.

    Changes nothing. Ends with 1 where something is broken; with -q only what is not well is shown.
    """
    front = front_of(ctx)

    async def body(app: "App") -> "Sequence[Examined]":
        from jobman_cli import plugins
        from jobman_cli.commands import SECTIONS

        taken = {name for _, members in SECTIONS for name in members}
        rows = plugins.load(plugins.entry_points(), taken)[1]
        return await several.patiently(
            front, app.doctor(files or (), rows, offline=offline), "looking at everything"
        )

    found = front.run(body, settings=False)
    if front.json:
        front.document([documents.checkup(e.group, each) for e in found for each in e.checkups])
    else:
        front.say(*_lines(front, found))
        front.note(_summary(found))
    if any(each.health == "broken" for one in found for each in one.checkups):
        raise typer.Exit(1)


def _lines(front: Front, found: "Sequence[Examined]") -> Iterator[str]:
    shown = {
        one.group: [each for each in one.checkups if not front.quiet or each.health != "well"]
        for one in found
    }
    names = [output.clean(each.name) for checkups in shown.values() for each in checkups]
    size = min(max(map(output.width, names), default=0), _LONGEST_NAME)
    for group, checkups in shown.items():
        if checkups:
            yield front.paint(output.clean(group), "bold")
        for each in checkups:
            yield from _entry(front, each, size)


def _entry(front: Front, checkup: "Checkup", size: int) -> Iterator[str]:
    """Give the lines of one check-up: how it stands, and below what mends it."""
    word, colour = _WORDS[checkup.health]
    name = output.clean(checkup.name)
    rest = f"  {name}{' ' * (size - output.width(name))}  "
    gap = " " * (_WORD - len(word))
    start, shown = f"{_INDENT}{word}{gap}{rest}", f"{_INDENT}{front.paint(word, colour)}{gap}{rest}"
    yield from output.hanging(start, output.clean(checkup.text), front.room, shown)
    if checkup.remedy:
        indent = " " * (output.width(start) - len("→ ")) + "→ "
        yield from output.hanging(indent, output.clean(checkup.remedy), front.room)


def _summary(found: "Sequence[Examined]") -> str:
    """Count it all, and name again what is broken: it may have scrolled away."""
    counts = Counter(str(each.health) for one in found for each in one.checkups)
    broken = [each.name for one in found for each in one.checkups if each.health == "broken"]
    words = [
        f"{counts[key]} {word}"
        for key, word in (("doubt", "to check"), ("unknown", "unknown"), ("well", "ok"))
        if counts[key]
    ]
    if not broken:
        return f"nothing is broken: {', '.join(words)}"
    return f"{len(broken)} broken: {output.joined(broken)}; {', '.join(words)}"
