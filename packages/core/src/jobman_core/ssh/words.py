"""What OpenSSH says when it does not get through, in words that tell what to do."""

from collections.abc import Callable
from typing import Final

from jobman_core.ssh.access import Access, Target

_Words = Callable[[Target, Access], str]


def _changed(target: Target, access: Access) -> str:
    del access
    return (
        "its host key is not the one that it had or that the cloud vouches for, so it may be "
        f"another machine: if you know why, remove the lines of {target.alias} in "
        f"{target.known_hosts}"
    )


def _denied(target: Target, access: Access) -> str:
    del target
    key = access.private_key or "your keys"
    return (
        f"it denies user {access.user!r} {key}: new hosts may take a minute to let one in; else "
        "check remote_user and ssh.private_key, and that `ssh-add -l` lists a key with a passphrase"
    )


def _nameless(target: Target, access: Access) -> str:
    del access
    return f"there is no address of the name {target.address!r}: check the name, or the network"


def _timed_out(target: Target, access: Access) -> str:
    return (
        f"no answer from {target.address}{_port(access)}: is it up, and does a firewall let SSH in?"
    )


def _refused(target: Target, access: Access) -> str:
    return f"nothing listens at {target.address}{_port(access)}: is it still starting?"


def _misconfigured(target: Target, access: Access) -> str:
    del access
    return (
        "OpenSSH does not take one of ssh.options, or of your ~/.ssh/config: "
        f"`ssh -v {target.address}` says which"
    )


def _port(access: Access) -> str:
    return f" port {access.port}" if access.port else ""


#: How many lines of OpenSSH are shown where nothing of it is known.
_LINES: Final = 3

#: The first of these that is said is what went wrong. OpenSSH's texts are not translated.
_KNOWN: Final[tuple[tuple[str, _Words], ...]] = (
    ("Host key verification failed", _changed),
    ("Permission denied (", _denied),
    ("Too many authentication failures", _denied),
    ("Could not resolve hostname", _nameless),
    ("timed out", _timed_out),
    ("Connection refused", _refused),
    ("onfiguration option", _misconfigured),
)


def in_words(said: str, target: Target, access: Access) -> str:
    """Give what went wrong, and what to do; what is not known, in OpenSSH's last lines."""
    for text, words in _KNOWN:
        if text in said:
            return words(target, access)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    # A jump host's own words stand before the last.
    return "; ".join(lines[-_LINES:]) or "the link dropped"
