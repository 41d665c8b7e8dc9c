"""OpenSSH on this machine: the program, the folder of its connections, and the keys it has."""

import asyncio
import contextlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import attrs

from jobman_core.command import quote
from jobman_core.doctor.asking import ask_all, said
from jobman_core.errors import CommandFailedError
from jobman_core.models.checkup import Checkup
from jobman_core.ssh import Links, own_keys

#: The first that takes ``StrictHostKeyChecking=accept-new`` (its release notes).
_LEAST: Final = (7, 6)
_VERSION: Final = re.compile(r"OpenSSH_(?:for_Windows_)?(\d+)\.(\d+)\S*")
#: What a key may not be to others: OpenSSH does not take one that they can read.
_OTHERS: Final = 0o077


@attrs.frozen
class Key:
    """A private key, as far as a look tells."""

    path: Path
    #: Others may read it: OpenSSH does not take it.
    open_to_others: bool = False
    #: It cannot be used without a passphrase.
    locked: bool = False
    #: An agent has it.
    in_agent: bool = False
    #: Neither it nor the public one beside it is there.
    missing: bool = False

    @property
    def usable(self) -> bool:
        """Tell whether a controller, whom nobody can answer, may use it."""
        return self.in_agent or not (self.open_to_others or self.locked)


@attrs.frozen
class Agent:
    """What an agent says."""

    #: ``SSH_AUTH_SOCK`` names one.
    named: bool
    #: It answers.
    answers: bool = False
    #: The public keys that it has, a line each.
    keys: str = ""

    @property
    def count(self) -> int:
        """How many keys it has."""
        return len(self.keys.splitlines())


async def ssh(links: Links, *, needed: bool) -> Sequence[Checkup]:
    """Look at all of it.

    Args:
        links: where the user's connections and keys are.
        needed: there are hosts to be reached by it.
    """
    return await ask_all(
        ("ssh", _program(needed=needed)),
        ("ssh connections", _connections(links)),
        # Jobs may name keys of their own: who needs these is found with the jobs and files.
        ("ssh keys", _own(links, needed=False)),
    )


async def key_of(path: Path | None, links: Links) -> Checkup:
    """Look at the key that a job file names; None: it names none, and needs one of the user's."""
    if path is None:
        return await _own(links, needed=True)
    key = await _look(path, await agent_of(links))
    return judge_named(key)


async def _program(*, needed: bool) -> Checkup:
    answer = await said("ssh", "-V")
    return judge_program(None if answer is None else answer.tail(1), needed=needed)


def judge_program(version: str | None, *, needed: bool) -> Checkup:
    """Say whether OpenSSH is there, and new enough.

    Args:
        version: what ``ssh -V`` says; None: there is no such program.
        needed: there are hosts to be reached by it.
    """
    if version is None:
        judge = Checkup.broken if needed else Checkup.doubt
        remedy = "install it (on Debian or Ubuntu: apt-get install openssh-client)"
        return judge("ssh", "not there: hosts in a cloud are reached by it", remedy)
    found = _VERSION.search(version)
    if found is None:
        told = f"it is not OpenSSH, whose options jobman uses: {version}"
        return Checkup.doubt("ssh", told, "install openssh-client")
    if tuple(map(int, found.groups())) < _LEAST:
        told = f"{found[0]} is too old: it takes the keys of new hosts only by a question"
        return Checkup.broken("ssh", told, "install OpenSSH 7.6 or later")
    return Checkup.well("ssh", found[0].replace("_", " "))


async def _connections(links: Links) -> Checkup:
    try:
        folder = (await asyncio.to_thread(links.control, "doctor")).parent
    except OSError as error:
        told = f"the folder of shared connections cannot be made: {error.strerror}"
        remedy = "see that XDG_RUNTIME_DIR, or /tmp, can be written"
        return Checkup.broken("ssh connections", told, remedy)
    except CommandFailedError as error:
        return Checkup.of_error("ssh connections", error)
    return Checkup.well("ssh connections", f"kept in {folder}")


# -- keys ----------------------------------------------------------------------------------


async def _own(links: Links, *, needed: bool) -> Checkup:
    agent = await agent_of(links)
    keys = [await _look(path, agent) for path in own_keys(links.folder)]
    return judge_keys(keys, agent, links.folder, needed=needed)


async def agent_of(links: Links) -> Agent:
    """Ask the user's agent which keys it has."""
    if not links.environ.get("SSH_AUTH_SOCK"):
        return Agent(named=False)
    try:
        answer = await said("ssh-add", "-L", env=links.environ)
    except TimeoutError:
        return Agent(named=True)
    # It ends with 1 where the agent has no key, and says so in place of keys (ssh-add(1)).
    if answer is None or answer.code > 1:
        return Agent(named=True)
    return Agent(named=True, answers=True, keys=answer.stdout.decode() if answer.ok else "")


async def _look(path: Path, agent: Agent) -> Key:
    words, mode = await asyncio.to_thread(_read, path)
    in_agent = len(words) > 1 and words[1] in agent.keys
    if mode is None:
        # Only an agent has it, or nobody.
        return Key(path, locked=True, in_agent=in_agent, missing=not words)
    if mode & _OTHERS:
        return Key(path, open_to_others=True, in_agent=in_agent)
    answer = await said("ssh-keygen", "-y", "-P", "", "-f", str(path))
    return Key(path, locked=answer is not None and not answer.ok, in_agent=in_agent)


def _read(path: Path) -> tuple[Sequence[str], int | None]:
    """Give the words of a public key, and the permissions of the private one; None: none."""
    words: Sequence[str] = ()
    with contextlib.suppress(OSError):
        words = path.with_name(f"{path.name}.pub").read_text("utf-8", "replace").split()
    try:
        return words, path.stat().st_mode
    except OSError:
        return words, None


def judge_keys(keys: Sequence[Key], agent: Agent, folder: Path, *, needed: bool) -> Checkup:
    """Say whether there is a key that hosts can be told of, and a controller can use.

    Args:
        keys: the user's own.
        agent: the user's agent.
        folder: where keys lie.
        needed: there are jobs that name no others.
    """
    name, bad = "ssh keys", Checkup.broken if needed else Checkup.doubt
    good = [key.path.name for key in keys if key.usable]
    if good or agent.count:
        held = [f"{agent.count} of the agent"] if agent.count else []
        return Checkup.well(name, ", ".join([*good, *held]))
    for key in keys:
        return bad(name, *_what_is_wrong(key))
    if agent.named and not agent.answers:
        told = "there is none, and the agent that SSH_AUTH_SOCK names does not answer"
        return bad(name, told, "run `ssh-add`, or unset SSH_AUTH_SOCK and make a key")
    make = quote(["ssh-keygen", "-t", "ed25519", "-f", str(folder / "id_ed25519")])
    return bad(name, f"there is none in {folder}, and no agent has any", f"run `{make}`")


def judge_named(key: Key) -> Checkup:
    """Say whether the key that a job file names can be used."""
    if key.missing:
        told = f"there is no key file {key.path}"
        return Checkup.broken("ssh.private_key", told, "correct ssh.private_key")
    if not key.usable:
        return Checkup.broken("ssh.private_key", *_what_is_wrong(key))
    return Checkup.well("ssh.private_key", str(key.path))


def _what_is_wrong(key: Key) -> tuple[str, str]:
    """Say why a key cannot be used, and what to do."""
    path = str(key.path)
    if key.open_to_others:
        return (
            f"others may read {path}: ssh does not take it",
            f"run `{quote(['chmod', '600', path])}`",
        )
    return (
        f"{path} needs a passphrase that no controller can type, and no agent has it",
        f"run `{quote(['ssh-add', path])}`, and start jobs in that shell",
    )
