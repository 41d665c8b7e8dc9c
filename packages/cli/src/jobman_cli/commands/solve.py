"""``jobman solve``: what is wrong on a job's hosts, and its remedy."""

from typing import TYPE_CHECKING, Annotated

import typer

from jobman_cli import arguments, documents, output, several
from jobman_cli.front import Front, front_of

if TYPE_CHECKING:
    from jobman_core.app import App
    from jobman_core.models.view import Finding, Solved

_EXAMPLES = """
$ jobman solve 000001
$ jobman solve 1 --fix
$ jobman solve 1 --json | jq -r '.[] | select(.fixed | not) | .problem'
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("solve", epilog=_EXAMPLES)(solve)


def solve(
    ctx: typer.Context,
    job: arguments.Job,
    fix: Annotated[bool, typer.Option("--fix", help="Run the remedies, and check again.")] = False,
) -> None:
    """Say what is wrong on a job's hosts, and what would mend it.

    Ends with 0 where nothing is wrong, or all of it was mended. While a program runs, or may start
    at any moment, nothing is done that could disturb it.
    """
    front = front_of(ctx)

    async def body(app: "App") -> "Solved":
        doing = f"{'mending' if fix else 'checking'} the hosts of {job}"
        return await several.patiently(front, app.solve(job, fix=fix), doing)

    found = front.run(body)
    if front.json:
        front.document([documents.finding(each) for each in found.findings])
    else:
        front.say(*_lines(front, found))
        if found.findings and found.preparing:
            doing = output.clean(found.preparing)
            front.note(f"the job prepares its hosts just now ({doing}): look again after that")
        elif not fix and any(each.mendable for each in found.findings):
            front.note(f"`{front.program} solve {job} --fix` mends what can be mended")
    if not found.well:
        raise typer.Exit(1)


def _lines(front: Front, found: "Solved") -> list[str]:
    if not found.findings:
        asked = output.count(len(found.checks), "check")
        return [f"nothing is wrong: {asked} on {output.count(found.hosts, 'host')}"]
    table = output.Table("HOST", "CHECK", "STATE", "WHAT", shrink=("CHECK",))
    for each in found.findings:
        state = output.Cell("mended", "green") if each.fixed else output.Cell("wrong", "red")
        table.add(str(each.host), each.name, state, _what(each))
    return table.lines(front.room, front.paint)


def _what(finding: "Finding") -> str:
    """Say what is wrong, and what mended it, would, or did not."""
    if finding.why:
        return f"{finding.problem}; not mended: {finding.why}"
    return f"{finding.problem}; {_remedy(finding)}"


def _remedy(finding: "Finding") -> str:
    if finding.mendable:
        return f"remedy: {finding.remedy}"
    return f"not by --fix: {finding.remedy}" if finding.remedy else "there is no remedy"
