"""``jobman demo``: all of it on this machine, with no account."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jobman_cli import output
from jobman_cli.front import Front, front_of

if TYPE_CHECKING:
    from jobman_cli.demo.play import Play
    from jobman_cli.demo.verdict import Check
    from jobman_core.app import App

_EXAMPLES = """
$ jobman demo
$ jobman demo --keep
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo", epilog=_EXAMPLES)(demo)


def demo(
    ctx: typer.Context,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the folder, to look at its files and logs.")
    ] = False,
) -> None:
    """See the whole thing on this machine; no account needed.

    Two workers share four tasks. One task depends on another, one fails at first, and one loses
    its slice in the middle. It takes less than 45 seconds, happens in a folder of its own, and
    leaves nothing behind.
    """
    front = front_of(ctx)
    home = Path(tempfile.mkdtemp(prefix="jobman-demo-"))
    play, found = _play(front, home, keep=keep)
    _summary(front, play, found)
    if not all(check.holds for check in found):
        raise typer.Exit(1)


def _play(front: Front, home: Path, *, keep: bool) -> "tuple[Play, list[Check]]":
    from jobman_cli.demo import files, picture, verdict
    from jobman_cli.demo.interruption import Interruption
    from jobman_cli.demo.play import Play

    left: list[str] = []
    with Interruption() as interruption:
        try:
            written = files.write(home)
            with picture.shown(front) as changed:

                async def body(app: "App") -> "Play":
                    play = Play(app, written, changed, left)
                    await play.run(interruption)
                    return play

                play = front.run(body, make=True, home=home)
        finally:
            clear(front, home, left, keep=keep)
    if interruption.happened:
        if not left:
            front.note("the demo was interrupted: its slices were given back, and nothing runs")
        raise KeyboardInterrupt
    return play, verdict.checks(play)


def clear(front: Front, home: Path, left: list[str], *, keep: bool) -> None:
    """Remove the folder, unless it is wanted, or something in it still needs looking after."""
    import shlex
    import shutil

    from jobman_cli.demo import leftovers

    left += leftovers.wait_for_none(home)
    for what in left:
        front.warn(what)
    jobs = sorted(path.name for path in home.glob("jobs/*/[0-9]*"))
    if left and jobs:
        where = shlex.quote(str(home))
        front.warn(f"`{front.program} --home {where} delete --yes {' '.join(jobs)}` ends the rest")
    if keep or left:
        front.note(f"the files of the demo are in {home}")
    else:
        shutil.rmtree(home)


def _summary(front: Front, play: "Play", found: "list[Check]") -> None:
    good = all(check.holds for check in found)
    if front.json:
        document = {
            "ok": good,
            "seconds": round(play.seconds, 1),
            "checks": [{"text": check.text, "ok": check.holds} for check in found],
        }
        front.document(document)
        return
    front.say("", front.paint("What you have just seen", "bold"), "")
    for check in found:
        mark, colour = ("ok", "green") if check.holds else ("NO", "red")
        text = check.text if check.holds else f"It should have been so: {check.text}"
        first, *rest = output.wrap(text, min(front.room or 80, 80) - 6)
        front.say(f"  {front.paint(mark, colour)}  {first}", *(f"      {line}" for line in rest))
        if not check.holds:
            front.say(f"      But: {output.clean(check.instead)}")
    front.say("")
    if good:
        front.say(
            f"It took {output.span(play.seconds)}. The slices were folders of this machine.",
            f"Your turn: `{front.program} create --help`.",
        )
    else:
        front.say("Something went wrong: please report it, with what `jobman demo --keep` leaves.")
