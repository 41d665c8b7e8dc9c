"""Put a task's code on the hosts: a fresh clone, the same commit everywhere."""

import asyncio
import hashlib
import re
from collections.abc import Sequence
from typing import Final

import attrs

from jobman_core.command import Command, Exit
from jobman_core.errors import CommandFailedError
from jobman_core.interfaces.host import Host
from jobman_core.models.address import mask
from jobman_core.models.task import Repo
from jobman_core.run.work_folder import script_of

#: The exit code of the line that looks for the script.
_NO_SCRIPT: Final = 92
#: What the script's own exit codes mean, and what to do.
_REASONS: Final = {
    93: "host {host}: code cannot be checked out to workdir {workdir!r}: give a plain relative "
    "path below the home folder",
    94: "host {host}: git is not installed: install it there to check out {url}",
    95: "host {host}: {url} has no branch, tag or commit {ref!r}: push it, or correct the branch",
    124: "host {host}: the checkout of {url} took longer than {limit:g} s: check the host's "
    "network and the repository's size",
}
_OTHERWISE: Final = (
    "host {host}: {url} at {ref!r} could not be checked out to ~/{workdir}: {said}: check the "
    "address, and the host's access to it"
)
#: What git, curl and ssh say of what passes by itself: a network or a server that is away.
_PASSING: Final = re.compile(
    r"Could not resolve host|Temporary failure in name resolution|Name or service not known"
    r"|[Tt]imed out|Connection (refused|reset|closed)|[Ff]ailed to connect|Couldn't connect"
    r"|Operation too slow|unexpected disconnect|early EOF|RPC failed|Empty reply from server"
    r"|Network is unreachable|No route to host|returned error: (429|5\d\d)\b"
)
#: Constant text: what differs is passed as arguments.
_FIND_AND_RUN: Final = f'[ -f "$1" ] || exit {_NO_SCRIPT}; exec bash "$1"'
_ANSWER: Final = re.compile(rb"^jobman-commit ([0-9a-f]{40,64})$", re.MULTILINE)
#: Seconds on top of the script's own limit, in which it tidies up and answers.
_MARGIN: Final = 30.0


class MayPassError(CommandFailedError):
    """A checkout met something that passes by itself."""


async def checkout(hosts: Sequence[Host], repo: Repo, workdir: str, *, limit: float) -> str:
    """Check a repository out into ``~/<workdir>`` on all hosts; what was there is removed.

    The first host decides which commit the branch, tag or commit stands for now; the others take
    that one, all at once.

    Args:
        hosts: at least one.
        repo: where the code is.
        workdir: a plain relative path.
        limit: seconds for the first host, and again for the others together.

    Returns:
        The commit's full id.

    Raises:
        MayPassError: a host could not for now.
        CommandFailedError: a host could not; the message has git's last lines and no password.
        HostUnreachableError: a host did not answer.
    """
    script = _Script.load()
    first, *others = hosts
    commit = await _on(first, script, repo, workdir, commit="", limit=limit)
    done = await asyncio.gather(
        *(_on(host, script, repo, workdir, commit=commit, limit=limit) for host in others),
        return_exceptions=True,
    )
    # All were waited for: a clone that still runs would be in the way of the next try.
    for result in done:
        if isinstance(result, BaseException):
            raise result
    return commit


@attrs.frozen
class _Script:
    content: bytes
    #: Relative to the host's home folder; the content's hash is part of it.
    path: str

    @classmethod
    def load(cls) -> "_Script":
        content = script_of("checkout.sh").encode()
        return cls(content, f".jobman/checkout-{hashlib.sha256(content).hexdigest()[:16]}.sh")


async def _on(
    host: Host, script: _Script, repo: Repo, workdir: str, *, commit: str, limit: float
) -> str:
    """Check out on one host; a script that it has not seen yet is put there first."""
    # Not as arguments: an address may hold a token, and arguments can be seen by everybody.
    told = (repo.url, repo.branch or "HEAD", workdir, commit, str(int(limit)))
    command = Command(
        ("sh", "-c", _FIND_AND_RUN, "sh", script.path),
        stdin=b"".join(item.encode("utf-8", "surrogateescape") + b"\0" for item in told),
        transient=True,
    )
    answer = await host.run(command, limit=limit + _MARGIN)
    if answer.code == _NO_SCRIPT:
        await host.put(script.content, script.path)
        answer = await host.run(command, limit=limit + _MARGIN)
    found = _ANSWER.search(answer.stdout)
    if not answer.ok or found is None:
        why = _why(answer, host.index, repo, workdir, limit)
        passes = answer.code not in _REASONS and _PASSING.search(answer.tail())
        raise MayPassError(why) if passes else CommandFailedError(why)
    return found[1].decode("ascii")


def _why(answer: Exit, host: int, repo: Repo, workdir: str, limit: float) -> str:
    """Say what went wrong on a host, and what to do."""
    return _REASONS.get(answer.code, _OTHERWISE).format(
        host=host,
        url=mask(repo.url, repo.url),
        ref=repo.branch,
        workdir=workdir,
        limit=limit,
        said=mask(answer.tail(), repo.url).rstrip(".") or f"exit code {answer.code}",
    )
