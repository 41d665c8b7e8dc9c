"""Flags of ``docker run`` as users write them, and those that jobman gives without being asked."""

import shlex
from collections.abc import Iterable, Iterator
from typing import Final

#: Whatever ``docker run`` is told besides: the accelerators are devices of the host, libtpu's
#: workers talk to each other by the host's addresses, and what runs inside has an init process,
#: which passes a signal on to the whole group as the agent does where there is no container.
_PRIVILEGED: Final = "--privileged"
_NETWORK: Final = ("--network", "host")
_INIT: Final = ("--init", "--env", "TINI_KILL_PROCESS_GROUP=1")

#: There is no terminal, and the container is removed anyway.
_IDLE: Final = frozenset({"-i", "-t", "-it", "-ti", "--interactive", "--tty", "--rm"})
#: Why a flag cannot be had.
_REFUSED: Final = {
    "--name": "jobman names its containers itself",
    "-d": "the output of a detached container is nobody's",
    "--detach": "the output of a detached container is nobody's",
    "--restart": "jobman starts again what it should, by job.loop and max_retries",
    "--sig-proxy": "jobman stops its containers itself",
    "--pull": "the image is there before any program is",
    "--cidfile": "jobman knows its containers by their labels",
}


def split_flags(written: Iterable[str]) -> tuple[str, ...]:
    """Give the arguments that a list of flags stands for; an entry may hold a flag and its value.

    Raises:
        ValueError: a quotation mark is not closed.
    """
    return tuple(
        word
        for entry in written
        for word in shlex.split(entry)
        if word.partition("=")[0] not in _IDLE
    )


def faults(flags: tuple[str, ...]) -> Iterator[str]:
    """Say what is wrong with flags."""
    if flags and not flags[0].startswith("-"):
        yield f"{flags[0]!r} is no flag of docker run: write one like --shm-size=16g"
    for flag in flags:
        name = flag.partition("=")[0]
        if why := _REFUSED.get(name):
            yield f"{name} cannot be had, as {why}: take it out"


def run_flags(flags: tuple[str, ...]) -> tuple[str, ...]:
    """Give all flags: ours first, since docker takes the last of two that contradict."""
    named = {flag.partition("=")[0] for flag in flags}
    # Of networks it would take both, and refuse them.
    network = () if named & {"--network", "--net"} else _NETWORK
    return (*_INIT, _PRIVILEGED, *network, *flags)
