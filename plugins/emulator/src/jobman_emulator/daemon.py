"""The emulator that runs in the background: one a user, found by the files in its folder."""

import asyncio
import http.client
import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from jobman_core import process
from jobman_core.errors import (
    CommandFailedError,
    HeldError,
    InvalidInputError,
    JobmanError,
    NotFoundError,
    NotYoursError,
    UnfinishedError,
)

#: Its session's name, as records have it.
_NAME: Final = "emulator"
#: Seconds that a start may take; google's modules alone take two on a slow disk.
_PATIENCE: Final = 60.0
_PAUSE: Final = 0.05
#: Seconds that a call to it may take: a preemption ends processes.
_LIMIT: Final = 120.0
#: Seconds between TERM and KILL: all hosts have to end.
_GRACE: Final = 30.0


@attrs.frozen
class Options:
    """What ``up`` was asked for."""

    hosts: str = "process"
    grpc_port: int = 0
    rest_port: int = 0
    #: Of process hosts; None: the usual one.
    ssh_port: int | None = None
    config: str | None = None


@attrs.frozen
class Facts:
    """What a running emulator has written down."""

    rest: str
    hosts: str
    ssh_port: int
    env: Mapping[str, str]


def own_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Give the folder of this user's emulator, made for them alone.

    Raises:
        NotYoursError: somebody else has made one in its place.
    """
    runtime = environ.get("XDG_RUNTIME_DIR")
    name = "jobman-emulator" if runtime else f"jobman-emulator-{os.getuid()}"
    folder = Path(runtime or tempfile.gettempdir(), name)
    folder.mkdir(mode=0o700, exist_ok=True, parents=True)
    status = folder.lstat()
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise NotYoursError(f"{folder} is not yours alone: remove it, or set XDG_RUNTIME_DIR")
    return folder


class Daemon:
    """The emulator in a folder."""

    def __init__(self, folder: Path) -> None:
        """Look at nothing yet."""
        self.folder = folder
        self.log = folder / "emulator.log"
        self._records = process.Records(folder)
        self._facts = folder / "facts.json"

    @property
    def hosts_folder(self) -> Path:
        """Where the hosts have their folders."""
        return self.folder / "hosts"

    @property
    def gcloud_folder(self) -> Path:
        """Where gcloud keeps the settings that it uses with the emulator."""
        return self.folder / "gcloud"

    async def up(self, options: Options) -> Facts:
        """Start it; returns when it answers.

        Raises:
            HeldError: it runs already.
            CommandFailedError: it did not start; the message says why.
        """
        async with self._records.locked(_NAME):
            self._check_free()
            self._facts.unlink(missing_ok=True)
            launch = process.Launch(
                name=_NAME,
                argv=(sys.executable, "-m", "jobman_emulator", json.dumps(attrs.asdict(options))),
                env={**os.environ, "JOBMAN_EMULATOR_FOLDER": str(self.folder)},
                cwd=self.folder,
                log=self.log,
                record=self._records.path(_NAME),
                settle=0.0,
            )
            start = self.log.stat().st_size if self.log.exists() else 0
            await process.start_detached(launch)
            return await self._answering(start)

    async def claim(self) -> None:
        """Let the calling process be the emulator of the folder, as ``up`` would start it.

        Raises:
            HeldError: another one runs.
        """
        async with self._records.locked(_NAME):
            self._check_free()
            identity = process.ProcessIdentity.of(os.getpid())
            _write(self._records.path(_NAME), json.dumps(attrs.asdict(identity)))

    def facts(self) -> Facts:
        """Give what the running emulator has written down.

        Raises:
            NotFoundError: none runs.
        """
        if self._lives():
            try:
                return Facts(**json.loads(self._facts.read_text("utf-8")))
            except FileNotFoundError:
                pass
        raise NotFoundError("no emulator runs: start one with `jobman emulator up`")

    def write(self, facts: Facts) -> None:
        """Write down that it answers, and where; called by the emulator itself."""
        _write(self._facts, json.dumps(attrs.asdict(facts)))

    def forget(self) -> None:
        """Write down that it does not answer any more."""
        self._facts.unlink(missing_ok=True)

    async def down(self) -> Mapping[str, Any]:
        """End it and all its hosts; give what there was.

        Raises:
            NotFoundError: none runs.
            UnfinishedError: something is left, or nobody can tell.
        """
        async with self._records.locked(_NAME):
            identity = self._records.read(_NAME)
            if identity is None or not self._lives():
                self._records.remove(_NAME)
                raise NotFoundError("no emulator runs: there is nothing to end")
            left: Mapping[str, Any] | None = None
            before: Mapping[str, Any] = {}
            try:
                facts = self.facts()
                before = await asyncio.to_thread(call, facts, "GET", "status")
                left = await asyncio.to_thread(call, facts, "POST", "close")
            except JobmanError:
                # It is ended all the same; what is left is then not known.
                left = None
            await process.end(identity, _GRACE)
            self._records.remove(_NAME)
            self.forget()
        if left is None:
            raise UnfinishedError(
                "the emulator was ended, but did not say what became of its hosts: look for "
                f"processes of {self.hosts_folder} with ps"
            )
        if left["processes"]:
            raise UnfinishedError(
                f"the emulator was ended, but {left['processes']} processes of its hosts are "
                f"left: look for processes of {self.hosts_folder} with ps"
            )
        return before

    def _check_free(self) -> None:
        if self._lives():
            raise HeldError(
                "an emulator runs already: `jobman emulator status` says how to use it, "
                "`jobman emulator down` ends it"
            )

    def _lives(self) -> bool:
        identity = self._records.read(_NAME)
        return identity is not None and identity.state() != "gone"

    async def _answering(self, start: int) -> Facts:
        limit = time.monotonic() + _PATIENCE
        while time.monotonic() < limit:
            if self._facts.exists():
                return self.facts()
            if not self._lives():
                with self.log.open("rb") as log:
                    log.seek(start)
                    said = log.read().decode("utf-8", "replace").strip().splitlines()
                why = said[-1].removeprefix("error: ") if said else f"see {self.log}"
                raise CommandFailedError(f"the emulator did not start: {why}")
            await asyncio.sleep(_PAUSE)
        raise CommandFailedError(
            f"the emulator does not answer after {_PATIENCE:g} s: see {self.log}, and end it with "
            "`jobman emulator down`"
        )


def _write(path: Path, text: str) -> None:
    """Write a file for its owner alone, whole or not at all."""
    aside = path.with_suffix(".new")
    aside.touch(mode=0o600)
    aside.write_text(text, encoding="utf-8")
    aside.replace(path)


def call(
    facts: Facts, method: str, verb: str, arguments: Mapping[str, Any] | None = None
) -> Mapping[str, Any]:
    """Call one of the emulator's verbs.

    Raises:
        InvalidInputError, NotFoundError, JobmanError: as it says.
    """
    # No proxy stands between a machine and itself, whatever the environment says.
    connection = http.client.HTTPConnection(facts.rest.removeprefix("http://"), timeout=_LIMIT)
    try:
        connection.request(
            method,
            f"/emulator/{verb}",
            json.dumps(arguments or {}),
            {"Content-Type": "application/json"},
        )
        answer = connection.getresponse()
        document: dict[str, Any] = json.loads(answer.read())
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise JobmanError(
            f"the emulator does not answer ({error}): look at it with `jobman emulator status`"
        ) from error
    finally:
        connection.close()
    if answer.status == http.HTTPStatus.NOT_FOUND:
        raise NotFoundError(f"{document['error']['message']}: see `jobman emulator status`")
    if answer.status == http.HTTPStatus.BAD_REQUEST:
        raise InvalidInputError(document["error"]["message"])
    if answer.status != http.HTTPStatus.OK:
        raise JobmanError(document["error"]["message"])
    return document
