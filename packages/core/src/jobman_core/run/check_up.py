"""What is asked of hosts before each attempt: cheap checks alone, in one round trip."""

from collections.abc import Collection, Sequence

from jobman_core.errors import CommandFailedError, HostUnreachableError
from jobman_core.interfaces.host import Host
from jobman_core.interfaces.store import Note
from jobman_core.models.slice import Slice
from jobman_core.models.view import Finding
from jobman_core.run.context import JobContext
from jobman_core.run.hosts import first_error, on_each
from jobman_core.run.problems import CHEAP_LIMIT, look, mend
from jobman_core.run.questions import Around, fitting


async def is_due(ctx: JobContext, slice_: Slice, indices: Collection[int]) -> bool:
    """Tell whether there is anything to ask of any of these hosts."""
    problems = await ctx.problems()
    return any(fitting(problems, host.facts, cheap=True) for host in _hosts(ctx, slice_, indices))


async def check_up(ctx: JobContext, slice_: Slice, indices: Collection[int]) -> None:
    """See whether hosts are fit to run something; what can be mended is.

    That is done where a host is a machine of its own; elsewhere, it is only told what is wrong. A
    host that no check fits is not asked anything.

    Args:
        ctx: the job.
        slice_: its slice.
        indices: the hosts; nothing of the job runs on them.

    Raises:
        HostUnreachableError: hosts did not answer.
        CommandFailedError: what is wrong on a host lets no program run.
    """
    problems = await ctx.problems()

    async def check(host: Host) -> Sequence[Finding]:
        asked = fitting(problems, host.facts, cheap=True)
        around = Around.of(ctx.spec, ctx.clock)
        found = await look(host, asked, around, limit=CHEAP_LIMIT)
        if not found or not host.facts.own_machine:
            return [each.finding() for each in found]
        # Whoever takes the job over meanwhile looks as well before anything is started, and waits
        # for these.
        await ctx.guard()
        return await mend(host, found, around)

    results = await on_each(_hosts(ctx, slice_, indices), check)
    silent = {i: r for i, r in results.items() if isinstance(r, HostUnreachableError)}
    if error := first_error(silent):
        raise error
    for index, result in results.items():
        if isinstance(result, CommandFailedError):
            # A host that cannot run scripts will say so when it is to run something.
            ctx.journal.retrying(f"host {index}: {result}")
        elif isinstance(result, Exception):
            raise result
        else:
            await _tell(ctx, slice_, index, result)
            for finding in result:
                if finding.fatal and not finding.fixed:
                    raise CommandFailedError(in_words(finding))


def _hosts(ctx: JobContext, slice_: Slice, indices: Collection[int]) -> Sequence[Host]:
    return [host for host in ctx.hosts(slice_) if host.index in indices]


async def _tell(ctx: JobContext, slice_: Slice, host: int, findings: Sequence[Finding]) -> None:
    """Tell what was mended, and what is wrong now and was not before."""
    before = ctx.troubles.get((slice_.generation, host), frozenset())
    now = frozenset(finding.name for finding in findings if not finding.fixed)
    ctx.troubles[slice_.generation, host] = now
    for finding in findings:
        if finding.fixed or finding.name not in before:
            note = note_of(finding)
            ctx.journal.job(note.text)
            await ctx.store.add_event(note, job=ctx.job.id)


def note_of(finding: Finding) -> Note:
    """Give the event that tells of a finding."""
    return Note("host.mended" if finding.fixed else "host.problem", in_words(finding))


def in_words(finding: Finding) -> str:
    """Say in one line what is wrong on a host, and what was done or would have to be."""
    text = f"host {finding.host}: {finding.name}: {finding.problem}"
    if finding.fixed:
        return f"{text}: mended; remedy: {finding.remedy}"
    if finding.why:
        return f"{text}: not mended: {finding.why}"
    return f"{text}: remedy: {finding.remedy}" if finding.remedy else text
