"""What OpenSSH is told about a host, beside what its user's own configuration says."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import attrs

from jobman_core.errors import InvalidInputError
from jobman_core.models.job import JobSpec

#: What gcloud makes, and OpenSSH would not look for by itself.
GCLOUD_KEY: Final = "google_compute_engine"

#: Seconds until a host has to have answered a new connection.
CONNECT_LIMIT: Final = 10
#: Seconds between two signs of life, and how many may be missing in a row.
_ALIVE_EVERY, _ALIVE_MISSING = 5, 3
#: Seconds for which a connection stays open that nobody uses.
_PERSIST: Final = 60

#: Held whatever anybody configures: without them commands are not data, or hosts not themselves.
_FIXED: Final = {
    "CheckHostIP": "no",
    "ClearAllForwardings": "yes",
    "GlobalKnownHostsFile": "/dev/null",
    "HashKnownHosts": "no",
    "NoHostAuthenticationForLocalhost": "no",
    "PermitLocalCommand": "no",
    "RemoteCommand": "none",
    "UpdateHostKeys": "no",
}
#: For whom a job's ``ssh.options`` come first.
_DEFAULTS: Final = {
    "ConnectTimeout": str(CONNECT_LIMIT),
    "ControlPersist": str(_PERSIST),
    "LogLevel": "ERROR",
    "ServerAliveInterval": str(_ALIVE_EVERY),
    "ServerAliveCountMax": str(_ALIVE_MISSING),
}


@attrs.frozen
class Access:
    """How a job's hosts let one in: its ``ssh`` section, and whom they know."""

    #: The user there.
    user: str
    #: None: what the user's own configuration says, else 22.
    port: int | None = None
    #: None: whatever keys OpenSSH would use by itself, and gcloud's.
    private_key: Path | None = None
    #: OpenSSH's own settings, by name.
    options: Mapping[str, str] = attrs.field(factory=dict)

    @classmethod
    def of_job(cls, user: str, spec: JobSpec) -> "Access":
        """Read a job's ``ssh`` section. Its hosts are told to know whom this names.

        Args:
            user: whose job it is.
            spec: the job.
        """
        section = spec.sections.get("ssh") or {}
        key = section.get("private_key")
        return cls(
            user=spec.remote_user or user,
            port=section.get("port"),
            private_key=Path(key) if key else None,
            options=section.get("options") or {},
        )

    def settings(self, folder: Path) -> list[tuple[str, str]]:
        """Give what OpenSSH is told of every host, in the order in which the first one holds.

        Args:
            folder: the user's ``~/.ssh``.
        """
        given: list[tuple[str, str]] = [*_FIXED.items(), ("User", self.user)]
        if self.port is not None:
            given.append(("Port", str(self.port)))
        if self.private_key is not None:
            # An agent with many keys would use up the tries before this one's turn.
            given += [("IdentityFile", literal(self.private_key)), ("IdentitiesOnly", "yes")]
        else:
            # By name: OpenSSH looks for them in the folder of the account, whatever HOME is.
            given += [("IdentityFile", literal(key)) for key in own_keys(folder)]
        return [*given, *self.options.items(), *_DEFAULTS.items()]


def own_keys(folder: Path) -> list[Path]:
    """Give the private keys that a user has, gcloud's first; each has a public one beside it.

    Args:
        folder: the user's ``~/.ssh``.
    """
    found = (folder / f"{GCLOUD_KEY}.pub", *sorted(folder.glob("id_*.pub")))
    # OpenSSH finds the certificate of a key by itself.
    keys = [public.with_suffix("") for public in found if public.exists()]
    return [key for key in keys if not key.name.endswith("-cert")]


@attrs.frozen
class Target:
    """One host, as OpenSSH is told of it."""

    address: str
    #: What its key is known by: addresses and ports come back with other machines behind them.
    alias: str
    known_hosts: Path
    #: Its key is known from elsewhere: another one is not taken.
    strict: bool


def ssh_argv(
    settings: list[tuple[str, str]],
    target: Target,
    control: Path,
    command: str | None,
    *,
    batch: bool = True,
) -> list[str]:
    """Give the command that runs one on a host over a shared connection, or a shell there.

    Args:
        settings: see :meth:`Access.settings`.
        target: the host.
        control: the socket of the connection.
        command: for the shell there to read; None: a terminal.
        batch: nobody is there to be asked anything.
    """
    own = [
        ("HostKeyAlias", target.alias),
        ("UserKnownHostsFile", literal(target.known_hosts)),
        ("StrictHostKeyChecking", "yes" if target.strict else "accept-new"),
        ("ControlMaster", "auto"),
        ("ControlPath", literal(control)),
        *([("BatchMode", "yes")] if batch else []),
    ]
    options = [item for name, value in (*own, *settings) for item in ("-o", f"{name}={value}")]
    terminal = ["-T"] if command is not None else []
    return ["ssh", *terminal, *options, "--", target.address, *([command] if command else [])]


def literal(path: Path) -> str:
    """Write a path so that OpenSSH finds in it no token, no variable and no second path.

    Raises:
        InvalidInputError: that cannot be.
    """
    text = str(path)
    if "${" in text or "\n" in text:
        raise InvalidInputError(
            f"OpenSSH cannot be told of {text!r}: use a path without '${{' and newlines"
        )
    escaped = text.replace("%", "%%").replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
