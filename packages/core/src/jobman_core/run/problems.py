"""What is wrong on hosts: checks, asked in one round trip a host, and their remedies.

The scripts run by ``problems.sh``; what they and their answers mean is decided here.
"""

import secrets
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Final

import attrs

from jobman_core.command import Command
from jobman_core.errors import CommandFailedError
from jobman_core.interfaces.host import Host
from jobman_core.interfaces.problem import HostProblem
from jobman_core.models.view import Finding
from jobman_core.run.questions import Around

#: Seconds that checks may take, all of them at once; and cheap ones, for which work waits.
CHECK_LIMIT: Final = 20
CHEAP_LIMIT: Final = 5
#: Seconds that all remedies of a host may take, one after the other. Whoever looks at the host
#: meanwhile waits for them.
REMEDY_LIMIT: Final = 900
#: Constant text: what runs the scripts comes before them, and needs no room on a disk.
_RUN: Final = 'IFS= read -r -d "" run && eval "$run"'
#: Seconds on top of these, for the way there and back.
_MARGIN: Final = 30.0
#: What ``timeout`` ends with where it had to end a script, and to kill it.
_TIMED_OUT: Final = (124, 137)
#: Characters of what a script said that are shown.
_LONGEST: Final = 400


@attrs.frozen
class Answer:
    """How a script ended on a host."""

    #: None: it is not over, or nobody could read how it ended.
    code: int | None
    #: In one line.
    said: str = ""


@attrs.frozen
class Found:
    """A check that found something."""

    host: int
    problem: HostProblem
    what: str

    def finding(self, *, fixed: bool = False, why: str = "") -> Finding:
        """Give it as people see it.

        Args:
            fixed: the check finds nothing any more.
            why: it was to be mended, and is not.
        """
        problem = self.problem
        remedy, mendable = problem.remedy_text, problem.remedy is not None
        if mendable and not remedy:
            remedy = f"run the script of check {problem.name}"
        return Finding(
            *(self.host, problem.name, self.what, remedy),
            mendable=mendable,
            fatal=problem.fatal,
            fixed=fixed,
            why=why,
        )


def read_answers(said: bytes, nonce: str, count: int) -> Sequence[Answer] | None:
    """Read what ``problems.sh`` says; None: it is not all there."""
    mark = nonce.encode() + b"\0"
    _, _, rest = said.partition(mark)
    body, end, _ = rest.partition(mark)
    items = body.split(b"\0")[:-1]
    if not end or len(items) != 2 * count:
        return None
    return [_answer(code, text) for code, text in zip(items[::2], items[1::2], strict=True)]


def _answer(code: bytes, text: bytes) -> Answer:
    said_so = text.decode("utf-8", "replace").splitlines()
    # Who says it is plain here.
    lines = (line.strip().removeprefix("jobman: ") for line in said_so)
    said = "; ".join(line for line in lines if line)
    if len(said) > _LONGEST:
        said = f"…{said[-_LONGEST:]}"
    return Answer(int(code) if code.isdigit() else None, said)


def judge(host: int, problem: HostProblem, answer: Answer, limit: int) -> Found | None:
    """Give what a check's answer means; None: all is well.

    Args:
        host: where it was asked.
        problem: whose check.
        answer: what came of it.
        limit: seconds that it had.
    """
    if answer.code == 0:
        return None
    if answer.code is None or answer.code in _TIMED_OUT:
        what = f"the check was not over within {limit} s"
        return Found(host, problem, f"{what}: {answer.said}" if answer.said else what)
    return Found(host, problem, answer.said or f"the check ended with {answer.code}")


@cache
def _script() -> bytes:
    return files("jobman_core.run").joinpath("problems.sh").read_bytes()


async def _run(
    host: Host, scripts: Sequence[str], around: Around, limit: int, *, mend: bool
) -> Sequence[Answer]:
    """Run scripts on a host, in one round trip.

    Raises:
        HostUnreachableError: no answer.
        CommandFailedError: one that nobody can read.
    """
    nonce = f"jobman-{secrets.token_hex(8)}"
    order = "in-turn" if mend else "together"
    argv = (
        "bash",
        "-c",
        _RUN,
        "bash",
        nonce,
        str(len(scripts)),
        str(limit),
        order,
        str(REMEDY_LIMIT),
    )
    items = (script.encode("utf-8", "surrogateescape") for script in scripts)
    stdin = b"".join(item + b"\0" for item in (_script(), *items))
    # What a remedy starts may stay, as mounts do.
    command = Command(argv, env=around.env(host.facts), stdin=stdin, transient=not mend)
    done = await host.run(command, limit=REMEDY_LIMIT + limit + _MARGIN)
    answers = read_answers(done.stdout, nonce, len(scripts))
    if answers is None:
        said = done.tail() or f"exit code {done.code}"
        msg = f"the checks gave no answer ({said}): the host needs bash and coreutils"
        raise CommandFailedError(msg)
    return answers


async def look(
    host: Host, problems: Sequence[HostProblem], around: Around, *, limit: int = CHECK_LIMIT
) -> Sequence[Found]:
    """Ask checks on a host, all at once; what has no check that fits costs nothing.

    Raises:
        HostUnreachableError: no answer.
        CommandFailedError: one that nobody can read.
    """
    if not problems:
        return []
    answers = await _run(host, [problem.check for problem in problems], around, limit, mend=False)
    judged = (
        judge(host.index, problem, answer, limit)
        for problem, answer in zip(problems, answers, strict=True)
    )
    return [found for found in judged if found is not None]


async def mend(
    host: Host,
    found: Sequence[Found],
    around: Around,
    *,
    refusal: str = "",
    limit: int = REMEDY_LIMIT,
) -> Sequence[Finding]:
    """Run the remedies of what was found on a host, and ask again all that was found.

    Args:
        host: where.
        found: what was.
        around: what scripts are told.
        refusal: why nothing may be done that could disturb a program; empty: all may be.
        limit: seconds for all of them.

    Raises:
        HostUnreachableError: no answer; remedies may have run, or run still.
        CommandFailedError: one that nobody can read.
    """
    scripts = {
        each: each.problem.remedy
        for each in found
        if each.problem.remedy is not None and (each.problem.gentle or not refusal)
    }
    if not scripts:
        return [each.finding(why=_refused(each, refusal)) for each in found]
    ends = await _run(host, list(scripts.values()), around, limit, mend=True)
    went = dict(zip(scripts, ends, strict=True))
    again = await look(host, [each.problem for each in found], around)
    left = {each.problem: each for each in again}
    return [
        each.finding(fixed=True)
        if (still := left.get(each.problem)) is None
        else still.finding(
            why=_failed(went[each], each, still) if each in went else _refused(each, refusal)
        )
        for each in found
    ]


def _refused(found: Found, refusal: str) -> str:
    return refusal if found.problem.remedy is not None else ""


def _failed(remedy: Answer, before: Found, now: Found) -> str:
    """Say why what was mended is not mended."""
    if remedy.code == 0:
        left = "it is as before" if now.what == before.what else "this is left"
        return f"its remedy went well, and {left}"
    if remedy.code is None or remedy.code in _TIMED_OUT:
        return "its remedy was not over in time"
    said = remedy.said or "it gave no reason"
    return f"its remedy ended with {remedy.code}: {said}"
