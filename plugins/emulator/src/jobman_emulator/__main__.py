"""The emulator as a process: what ``jobman emulator up`` starts."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from jobman_core.errors import JobmanError
from jobman_emulator.daemon import Daemon, Facts, Options
from jobman_emulator.hosts import make_hosts
from jobman_emulator.server import Emulator
from jobman_emulator.settings import Settings


async def serve(daemon: Daemon, options: Options, ready: Callable[[Facts], None]) -> None:
    """Run an emulator until this process is told to end.

    Args:
        daemon: whose folder holds the hosts.
        options: what was asked for.
        ready: told once it answers.

    Raises:
        JobmanError: it cannot be as asked.
        OSError: a port is taken.
    """
    settings = Settings.read(Path(options.config)) if options.config else Settings()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    daemon.hosts_folder.mkdir(mode=0o700, exist_ok=True)
    daemon.gcloud_folder.mkdir(mode=0o700, exist_ok=True)
    machines = make_hosts(options.hosts, daemon.hosts_folder, port=options.ssh_port)
    async with Emulator(
        machines,
        provisioning=settings.provisioning,
        deleting=settings.deleting,
        suspending=settings.suspending,
        grpc_port=options.grpc_port,
        rest_port=options.rest_port,
    ) as emulator:
        await settings.apply(emulator.control)
        env = emulator.env(daemon.gcloud_folder)
        facts = Facts(emulator.rest, options.hosts, machines.port, env)
        ready(facts)
        await stop.wait()


def run(daemon: Daemon, options: Options, ready: Callable[[Facts], None]) -> None:
    """Run an emulator in the foreground, as :func:`serve` does."""

    def write(facts: Facts) -> None:
        daemon.write(facts)
        ready(facts)

    try:
        asyncio.run(serve(daemon, options, write))
    finally:
        daemon.forget()


def main() -> int:
    """Run as the background process."""
    daemon = Daemon(Path(os.environ["JOBMAN_EMULATOR_FOLDER"]))
    try:
        run(daemon, Options(**json.loads(sys.argv[1])), lambda _facts: None)
    except (JobmanError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
