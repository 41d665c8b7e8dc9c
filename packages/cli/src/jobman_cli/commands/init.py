"""``jobman init``: files to begin with."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from jobman_cli import output
from jobman_cli.front import Front, front_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobman_core.app import App
    from jobman_core.models.sample import Sample

_EXAMPLES = """
$ jobman init
$ jobman init --yes --queue
$ jobman init mnist --cloud gcp --accelerator v6e-8 --spot
"""
_NONE: Final = "none"
#: Says why an answer will not do; empty: it will.
_Check = Callable[[str], str]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("init", epilog=_EXAMPLES)(init)


def init(
    ctx: typer.Context,
    folder: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="Where the files go.", show_default=False)
    ] = Path(),
    *,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="What the job is called.")
    ] = "experiment",
    cloud: Annotated[
        str | None, typer.Option("--cloud", metavar="CLOUD", help="local, gcp, or of a plugin.")
    ] = None,
    accelerator: Annotated[
        str | None, typer.Option("--accelerator", metavar="TYPE", help="Like v6e-8.")
    ] = None,
    zone: Annotated[
        str | None, typer.Option("--zone", metavar="ZONE", help="Like us-central1-b.")
    ] = None,
    spot: Annotated[
        bool | None,
        typer.Option("--spot/--on-demand", help="Cheap and lost at any time, or neither."),
    ] = None,
    queue: Annotated[
        bool, typer.Option("--queue", help="Tasks from a tasks file, instead of a command.")
    ] = False,
    command: Annotated[
        str | None, typer.Option("--command", metavar="SCRIPT", help="What the job runs.")
    ] = None,
    environment: Annotated[
        str | None, typer.Option("--env", metavar="KIND", help="venv, conda or docker.")
    ] = None,
    bucket: Annotated[
        str | None, typer.Option("--bucket", metavar="BUCKET", help="Mounted on the hosts.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is there.")] = False,
) -> None:
    """Write commented files to begin with: a job, or a queue.

    On a terminal it asks for what no option says. What it writes is valid at once.
    """
    import attrs

    front = front_of(ctx)
    if queue and command is not None:
        from jobman_core.errors import InvalidInputError

        msg = "--queue and --command at once: give one of them"
        raise InvalidInputError(msg)
    questions = _Questions(front, asks=front.stdin.isatty() and not yes)
    chosen = _chosen(questions, cloud, accelerator, zone, spot)
    work = _work(questions, queue=queue, command=command)
    environment, bucket = _rest(questions, environment, bucket)
    sample = attrs.evolve(chosen, name=name, command=work, environment=environment, bucket=bucket)

    async def body(app: "App") -> "Sequence[Path]":
        return await app.init(folder, sample, force=force)

    paths = front.run(body)
    if front.json:
        front.document([str(path) for path in paths])
    else:
        front.say(*(output.clean(str(path)) for path in paths))
    job = output.clean(str(folder / paths[0].name))
    front.note(f"look at it, then `jobman create {job}`; `jobman validate {job}` checks changes")


class _Questions:
    """Asks on a terminal; elsewhere the usual answers hold."""

    def __init__(self, front: Front, *, asks: bool) -> None:
        self._front = front
        self._asks = asks

    def ask(self, question: str, usual: str, check: _Check = lambda _: "") -> str:
        """Give an answer that will do."""
        while self._asks:
            answer = self._front.ask_for(question, usual)
            wrong = check(answer)
            if not wrong:
                return answer
            self._front.note(output.clean(wrong))
        return usual


def _one_of(*words: str) -> _Check:
    return lambda answer: "" if answer in words else f"write one of {', '.join(words)}"


def _no_accelerator(answer: str) -> str:
    from jobman_core.models.accelerator import Accelerator

    try:
        Accelerator.parse(answer)
    except ValueError as error:
        return str(error)
    return ""


def _chosen(
    questions: _Questions,
    cloud: str | None,
    accelerator: str | None,
    zone: str | None,
    spot: bool | None,
) -> "Sample":
    """Choose the slice."""
    from jobman_core.errors import InvalidInputError
    from jobman_core.models.sample import LOCAL, Sample, usual_accelerator, usual_zone

    if cloud is None:
        usual = LOCAL if spot is None and zone is None else "gcp"
        cloud = questions.ask("where: local (this machine), or gcp (Google Cloud)?", usual)
    if accelerator is None:
        usual = usual_accelerator(cloud)
        accelerator = questions.ask("accelerator?", usual, _no_accelerator)
    elif wrong := _no_accelerator(accelerator):
        raise InvalidInputError(wrong)
    if zone is None:
        zone = usual_zone(cloud, accelerator)
        zone = zone if cloud == LOCAL else questions.ask("zone?", zone)
    if spot is None:
        check = _one_of("yes", "no")
        question = "spot (costs less, and can be taken away at any time): yes or no?"
        spot = cloud != LOCAL and questions.ask(question, "yes", check) == "yes"
    return Sample(cloud=cloud, accelerator=accelerator, zone=zone, spot=spot)


def _work(questions: _Questions, *, queue: bool, command: str | None) -> str | None:
    """Choose what runs; None: tasks."""
    from jobman_core.models.sample import GREETING

    if queue or command is not None:
        return command
    check = _one_of("command", "queue")
    if (
        questions.ask("what runs: command (one script), or queue (many tasks)?", "command", check)
        == "queue"
    ):
        return None
    return questions.ask("the command?", GREETING)


def _rest(
    questions: _Questions, environment: str | None, bucket: str | None
) -> tuple[str | None, str | None]:
    """Choose what else the hosts get."""
    if environment is None:
        check = _one_of(_NONE, "venv", "conda", "docker")
        environment = questions.ask("environment: none, venv, conda or docker?", _NONE, check)
    if bucket is None:
        bucket = questions.ask("a bucket to mount, or none?", _NONE)
    return (
        None if environment == _NONE else environment,
        None if bucket == _NONE else bucket,
    )
