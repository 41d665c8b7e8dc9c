"""``ssh.identities``: which files hosts get, where those lie there, and what is wrong with them."""

import base64
import binascii
import os.path
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from jobman_core.config.faults import WrongValueError
from jobman_core.config.nodes import Path_, dotted
from jobman_core.models.job import JobSpec

#: The hosts of this cloud are folders of this machine, and have its keys.
WITHOUT_SSH: Final = "local"

#: The lines of a host's ``~/.ssh/config`` between which everything is jobman's.
FIRST_LINE: Final = "# >>> jobman >>>"
LAST_LINE: Final = "# <<< jobman <<<"
_SAID: Final = "# From ssh.identities of the job's file: what is changed here is lost."

#: More bytes than any key has.
_LONGEST: Final = 65536
_PRIVATE: Final = re.compile(rb"^-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----", re.MULTILINE)
_PUBLIC: Final = re.compile(rb"^(?:ssh|ecdsa|sk)-[!-~]+ +[A-Za-z0-9+/]", re.MULTILINE)
_PUTTY: Final = b"PuTTY-User-Key-File"
#: How OpenSSH's own format begins (PROTOCOL.key); the name of a cipher follows, after its length.
_OWN_FORMAT: Final = b"openssh-key-v1\0"
#: A line that says for which hosts the settings below it are (ssh_config(5)).
_FOR_HOSTS: Final = re.compile(r'[ \t]*(?:host|match)[ \t="]', re.IGNORECASE)
#: Files of a host that are no keys, and folders that are not for any.
_TAKEN: Final = re.compile(
    r"\.jobman(/.*)?|\.ssh/(config|environment|rc|(authorized_keys|known_hosts)\w*)"
)


@attrs.frozen
class KeyFile:
    """A file of this machine that a job's hosts get."""

    #: Where the job's file names it, below ``ssh``.
    at: Path_
    source: Path
    private: bool

    @property
    def mode(self) -> int:
        """Give the permissions that it has on the hosts."""
        return 0o600 if self.private else 0o644

    def target(self, home: Path) -> str:
        """Give its place on the hosts, relative to the home folder there.

        ``config_entry`` is written in terms of this machine, and mostly of ``~``: what lies below
        the home folder here is found under the same name there.
        """
        source = Path(os.path.normpath(self.source))
        if source.is_relative_to(home):
            return str(source.relative_to(home))
        return f".ssh/{source.name}"

    def read(self) -> bytes:
        """Give its content.

        Raises:
            WrongValueError: there is none, or not that of such a key.
        """
        try:
            # What is no file may never come to an end, or not even begin.
            content = self._head() if self.source.is_file() else None
        except OSError as error:
            raise WrongValueError(
                f"the key file {self.source} cannot be read: {error.strerror}"
            ) from error
        if content is None:
            there = "is no file" if self.source.exists() else "is not there"
            raise WrongValueError(f"the key file {self.source} {there}: correct its path")
        wrong = _no_private(content, self.source) if self.private else _no_public(content)
        if wrong:
            raise WrongValueError(f"{self.source} {wrong}")
        return content

    def _head(self) -> bytes:
        with self.source.open("rb") as file:
            return file.read(_LONGEST)


def _no_private(content: bytes, path: Path) -> str | None:
    """Say why a content is no private key."""
    if _PRIVATE.search(content) and b"\0" not in content and len(content) < _LONGEST:
        return None
    if content.startswith(_PUTTY):
        return "is in the format of PuTTY: `puttygen -O private-openssh` gives one of OpenSSH"
    if _PUBLIC.match(content):
        return f"is a public key: name the private one, {path.with_suffix('')}"
    return "is no private key that OpenSSH reads: `ssh-keygen -t ed25519` makes one"


def _no_public(content: bytes) -> str | None:
    """Say why a content is no public key."""
    if _PRIVATE.search(content):
        return "is a private key, and the public one is readable for all: name that (`.pub`)"
    if _PUBLIC.match(content) and b"\0" not in content and len(content) < _LONGEST:
        return None
    return "is no public key that OpenSSH reads: `ssh-keygen -y -f PRIVATE` tells that of a key"


def has_passphrase(content: bytes) -> bool:
    """Tell whether a private key can only be used by who knows its passphrase."""
    if b"ENCRYPTED" in content:
        return True
    inside = b"".join(line for line in content.splitlines() if not line.startswith(b"-"))
    try:
        blob = base64.b64decode(inside)
    except binascii.Error:
        return False
    size = len(_OWN_FORMAT)
    return blob.startswith(_OWN_FORMAT) and blob[size + 4 : size + 8] != b"none"


def section_of(spec: JobSpec) -> Mapping[str, Any] | None:
    """Give a job's ``ssh`` section; None: it has none, or none that has a meaning on its hosts."""
    if all(each.cloud == WITHOUT_SSH for each in spec.candidates):
        return None
    return spec.sections.get("ssh")


def key_files(section: Mapping[str, Any]) -> Iterator[KeyFile]:
    """Find the files that the ``ssh`` section brings to hosts."""
    for index, identity in enumerate(section.get("identities") or ()):
        for key in ("private_key", "public_key"):
            if path := identity.get(key):
                yield KeyFile(("identities", index, key), Path(path), key == "private_key")


def home_folder() -> Path:
    """Give the user's home folder on this machine: what ``~`` stands for in a job's file."""
    return Path(os.path.expanduser("~"))  # noqa: PTH111 - Path's own raises where there is none


def config_block(section: Mapping[str, Any]) -> str:
    """Give what the hosts' ``~/.ssh/config`` is to say, a line each; empty: nothing.

    It stands behind what is there already, where each setting would be of the hosts named last: one
    with no ``Host`` above it is for all, and so is whatever somebody adds below the block.
    """
    lines: list[str] = []
    for entry in map(_entry, section.get("identities") or ()):
        settings = [line for line in entry if line.strip() and not line.lstrip().startswith("#")]
        if settings and not _FOR_HOSTS.match(settings[0]):
            lines.append("Host *")
        lines += entry
    if not lines:
        return ""
    return "".join(f"{line}\n" for line in (FIRST_LINE, _SAID, *lines, "Host *", LAST_LINE))


def _entry(identity: Mapping[str, Any]) -> list[str]:
    """Give the lines of a ``config_entry``, however they end; one that says nothing has none."""
    text = (identity.get("config_entry") or "").replace("\r\n", "\n").replace("\r", "\n")
    return text.rstrip("\n").split("\n") if text.strip() else []


def faults_of(
    section: Mapping[str, Any], home: Path, notes: list[str] | None
) -> Iterator[tuple[Path_, str]]:
    """Say what is wrong with the identities of an ``ssh`` section, each with its place.

    Args:
        section: as plain data.
        home: the user's home folder on this machine.
        notes: gets what one may not expect of the files; None: they need not be there.
    """
    for index, identity in enumerate(section.get("identities") or ()):
        if {FIRST_LINE, LAST_LINE} & {line.strip() for line in _entry(identity)}:
            yield (
                ("identities", index, "config_entry"),
                f"jobman marks its own lines with {FIRST_LINE!r} and {LAST_LINE!r}: take them out",
            )
    places: dict[str, KeyFile] = {}
    for file in key_files(section):
        place = file.target(home)
        other = places.setdefault(place, file)
        if _TAKEN.fullmatch(place):
            yield file.at, f"on the hosts ~/{place} is not for keys: give the file another name"
        elif other.source != file.source:
            theirs = dotted(("ssh", *other.at))
            wrong = f"on the hosts its place, ~/{place}, is that of {theirs} already"
            yield file.at, f"{wrong}: give one of the files another name"
        elif notes is not None:
            try:
                content = file.read()
            except WrongValueError as error:
                yield file.at, str(error)
                continue
            if file.private and has_passphrase(content):
                notes.append(
                    f"{dotted(('ssh', *file.at))}: {file.source} has a passphrase, and on the "
                    "hosts there is nobody to type it: bring a key without one"
                )
