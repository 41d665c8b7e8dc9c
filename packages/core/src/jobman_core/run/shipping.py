"""Put a local folder's code on the hosts: sent where it is not yet, and unpacked afresh."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from jobman_core.command import Command, Exit
from jobman_core.errors import CommandFailedError
from jobman_core.interfaces.host import Host
from jobman_core.packing import Archive, in_units
from jobman_core.run.hosts import on_all
from jobman_core.run.work_folder import script_of

#: Bytes that are sent at once: what a broken link takes with it, and what a host must be able to
#: take within :data:`PART_LIMIT`.
PART: Final = 4 * 2**20
#: Seconds for one part.
PART_LIMIT: Final = 60.0
#: Seconds for a host to read all that was sent once more.
SEAL_LIMIT: Final = 120.0
#: Seconds on top of the script's own limit, in which it tidies up and answers.
_MARGIN: Final = 30.0
#: How often an archive that arrived damaged is sent.
_TIMES: Final = 2

_MISSING: Final = 92
_DAMAGED: Final = 94
#: What exit codes of the script mean, and what to do.
_REASONS: Final = {
    93: "code cannot be put into workdir {workdir!r}: give a plain relative path below the home "
    "folder",
    124: "code could not be unpacked to ~/{workdir} within {limit:g} s: check the host's disk",
}
_OTHERWISE: Final = (
    "code could not be put into ~/{workdir}: {said}: check the host's disk and the rights in its "
    "home folder"
)

#: SNAPSHOT WORKDIR LIMIT.
_UNPACK: Final = script_of("unpack.sh")
#: SNAPSHOT OFFSET: whoever writes the same part at the same time writes the same.
_ADD: Final = """
umask 077
mkdir -p .jobman/code && cd .jobman/code || exit 1
exec dd of="$1.part" bs=64k seek="$2" oflag=seek_bytes iflag=fullblock conv=notrunc status=none
"""
#: SNAPSHOT: puts what has come in its place, unless somebody else has by now, and removes what was
#: not used for long.
_SEAL: Final = f"""
cd .jobman/code || exit 1
[ ! -f "$1.tar.gz" ] || exec rm -f -- "$1.part"
if ! printf '%s  %s\\n' "$1" "$1.part" | sha256sum --check --status; then
    rm -f -- "$1.part"
    exit {_DAMAGED}
fi
mv -f -- "$1.part" "$1.tar.gz" || [ -f "$1.tar.gz" ] || exit 1
ls -t -- *.tar.gz | tail -n +9 | while read -r old; do rm -f -- "$old"; done
find . -name '*.part' -mtime +1 -delete
exit 0
"""


async def ship(
    hosts: Sequence[Host],
    archive: Archive,
    workdir: str,
    *,
    limit: float,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Unpack an archive into ``~/<workdir>`` on all hosts; what was there is removed.

    A host that has it already is sent nothing, and one that has a part of it the rest.

    Args:
        hosts: where.
        archive: what.
        workdir: a plain relative path.
        limit: seconds for a host to unpack it.
        tell: gets a line for each host that something is sent to.

    Raises:
        CommandFailedError: a host could not; the message names it.
        HostUnreachableError: a host did not answer; to ship once more goes on where it broke off.
    """
    unpack = partial(_unpack, snapshot=archive.snapshot, workdir=workdir, limit=limit)

    async def act(host: Host) -> None:
        answer = await unpack(host)
        for _ in range(_TIMES):
            if answer.code not in {_MISSING, _DAMAGED}:
                break
            have = int(answer.stdout) if answer.code == _MISSING else 0
            size = (await asyncio.to_thread(archive.path.stat)).st_size
            tell(f"sends {in_units(size - have)} of code to host {host.index}")
            await _send(host, archive, have, size)
            answer = await unpack(host)
        if not answer.ok:
            raise CommandFailedError(_why(answer, host.index, workdir, limit))

    await on_all(hosts, act)


async def _unpack(host: Host, *, snapshot: str, workdir: str, limit: float) -> Exit:
    argv = ("bash", "-c", _UNPACK, "bash", snapshot, workdir, str(int(limit)))
    return await host.run(Command(argv, transient=True), limit=limit + _MARGIN)


async def _send(host: Host, archive: Archive, have: int, size: int) -> None:
    """Send what is missing of an archive, in parts; one that does not fit is sent anew."""
    for offset in range(have, size, PART):
        part = await asyncio.to_thread(_read, archive.path, offset)
        argv = ("sh", "-c", _ADD, "sh", archive.snapshot, str(offset))
        await _done(host, Command(argv, stdin=part, transient=True), PART_LIMIT)
    seal = ("sh", "-c", _SEAL, "sh", archive.snapshot)
    await _done(host, Command(seal, transient=True), SEAL_LIMIT)


async def _done(host: Host, command: Command, limit: float) -> None:
    done = await host.run(command, limit=limit)
    # What is damaged has gone from there, which the next try to unpack shows.
    if not done.ok and done.code != _DAMAGED:
        said = done.tail() or f"exit code {done.code}"
        raise CommandFailedError(
            f"host {host.index}: code could not be written to ~/.jobman/code: {said}: check the "
            "host's disk and the rights in its home folder"
        )


def _read(path: Path, offset: int) -> bytes:
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(PART)


def _why(answer: Exit, host: int, workdir: str, limit: float) -> str:
    """Say what went wrong on a host, and what to do."""
    if answer.code in {_MISSING, _DAMAGED}:
        return f"host {host}: code arrived damaged {_TIMES} times: check the host's disk"
    said = answer.tail() or f"exit code {answer.code}"
    reason = _REASONS.get(answer.code, _OTHERWISE)
    return f"host {host}: " + reason.format(workdir=workdir, limit=limit, said=said)
