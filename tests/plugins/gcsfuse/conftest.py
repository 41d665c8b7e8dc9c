"""A host that is a folder of this machine, with a gcsfuse of whatever version."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
from tests.support.buckets import BucketServer, bucket_server, stand_in

from jobman_core.clock import SystemClock
from jobman_core.command import Command
from jobman_core.interfaces.backend import Context
from jobman_core.models.attempt import SCRIPT
from jobman_core.models.job import HoldMode, JobSpec
from jobman_core.models.slice import SliceRequest
from jobman_gcsfuse import Gcsfuse

#: Seconds for any one command.
LIMIT = 40.0


def spec_of(
    section: Mapping[str, Any],
    *,
    cloud: str = "gcp",
    zones: Sequence[str] = ("us-central2-b",),
    **more: Any,
) -> JobSpec:
    """Give a job with such a section ``gcsfuse``."""
    candidates = tuple(SliceRequest(cloud, "v4-8", zone) for zone in zones)
    return JobSpec("job", "job", HoldMode(), candidates, sections={"gcsfuse": section}, **more)


@attrs.frozen
class Said:
    code: int
    out: str


@attrs.frozen
class FolderHost:
    """Runs commands as a host of a slice would."""

    home: Path
    #: What is first on its PATH.
    programs: Path
    #: The options that gcsfuse was given, one a line.
    options: Path

    def install(self, name: str, text: str) -> None:
        program = self.programs / name
        program.write_text(text)
        program.chmod(0o755)

    def run(self, command: Command) -> Said:
        script = self.home / "script"
        script.write_bytes(command.stdin)
        argv = [str(script) if item == SCRIPT else item for item in command.argv]
        path = f"{self.programs}:{os.environ['PATH']}"
        env = {"HOME": str(self.home), "PATH": path, **command.env}
        done = subprocess.run(
            argv,
            cwd=self.home,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT,
            check=False,
        )
        return Said(done.returncode, done.stdout.decode())

    def run_all(self, commands: Sequence[Command]) -> Said:
        """Run one after the other, as long as they end well."""
        said = Said(0, "")
        for command in commands:
            said = self.run(command)
            if said.code:
                break
        return said

    def mounts(self) -> list[str]:
        """List what is mounted below the home, the last mounted first."""
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
        places = [line.split()[4].encode().decode("unicode_escape") for line in lines]
        return [place for place in reversed(places) if place.startswith(f"{self.home}/")]

    def servers(self) -> list[int]:
        """List the processes that serve these mounts."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                argv = (process / "cmdline").read_bytes().decode().split("\0")
                if Path(argv[0]).name == "rclone" and any(str(self.home) in item for item in argv):
                    found.append(int(process.name))
        return found

    def signal_servers(self, number: int) -> None:
        pids = self.servers()
        assert pids, "nothing serves a mount"
        for pid in pids:
            os.kill(pid, number)
        deadline = time.monotonic() + LIMIT
        while number == signal.SIGKILL and self.servers():
            assert time.monotonic() < deadline, "they do not die"
            time.sleep(0.01)


@pytest.fixture
def storage(tmp_path: Path) -> Gcsfuse:
    return Gcsfuse(Context(tmp_path, "home-1", SystemClock()))


@pytest.fixture
def host(tmp_path: Path) -> Iterator[FolderHost]:
    """Give a host; nothing of it stays mounted."""
    folders = tmp_path / "host home", tmp_path / "programs"
    for folder in folders:
        folder.mkdir()
    host = FolderHost(*folders, tmp_path / "options")
    yield host
    for place in host.mounts():
        subprocess.run(["umount", "-l", place], check=False)
    for pid in host.servers():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def buckets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BucketServer]:
    """Give the buckets ``my-bucket`` and ``other``, in us-central2."""
    with bucket_server(tmp_path_factory.mktemp("buckets")) as server:
        server.make("my-bucket")
        server.make("other")
        yield server


@pytest.fixture
def gcsfuse(host: FolderHost, buckets: BucketServer) -> Callable[[str], None]:
    """Give what installs a version of gcsfuse on the host."""

    def install(version: str) -> None:
        host.install("gcsfuse", stand_in(version, buckets.url, str(host.options)))

    install("3.5.0")
    return install
