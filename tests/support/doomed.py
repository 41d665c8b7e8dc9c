"""A controller that is killed or stopped at a moment: ``doomed.py HOME JOB MOMENT SIGNAL``.

The same as ``jobman run JOB``, but for its end. With no moment it prints all that there were.
"""

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import cast

import attrs
from tests.support.mortal import Moment, Mortal, Way

from jobman_core import hookimpl
from jobman_core.app import App, run
from jobman_core.builtin import builtins, registration
from jobman_core.builtin.local import LocalCloud
from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.clock import SystemClock
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.cloud import Cloud
from jobman_core.interfaces.host import Host, Runner
from jobman_core.interfaces.store import Store
from jobman_core.models.slice import Slice, SliceIdentity, SliceRequest
from jobman_core.plugins import Plugins
from jobman_core.run.agent import AgentRunner


@attrs.define
class Doomed(Mortal):
    """One that gets a real signal, as a whole."""

    fate: signal.Signals = signal.SIGKILL

    def die(self) -> None:
        os.kill(os.getpid(), self.fate)


def plugins(mortal: Mortal) -> Plugins:
    """Give all that is built in, with a local cloud that leads past the moments."""

    class DoomedCloud(LocalCloud):
        async def create(self, identity: SliceIdentity, request: SliceRequest) -> None:
            await mortal.pass_by("before", "cloud", "create")
            await super().create(identity, request)
            await mortal.pass_by("after", "cloud", "create")

        async def delete(self, identity: SliceIdentity) -> None:
            await mortal.pass_by("before", "cloud", "delete")
            await super().delete(identity)
            await mortal.pass_by("after", "cloud", "delete")

        def hosts(self, slice_: Slice) -> Sequence[Host]:
            return [mortal.host(host) for host in super().hosts(slice_)]

        def runner(self, slice_: Slice) -> Runner:
            return mortal.runner(AgentRunner(super().hosts(slice_), SystemClock()))

    def clouds() -> Sequence[type[Cloud]]:
        return [DoomedCloud]

    found = ModuleType("doomed")
    vars(found).update({**vars(registration), "jobman_clouds": hookimpl(clouds)})
    return Plugins(lambda: {**builtins(), "builtin": found})


async def main(home: str, job: str, moment: str = "", number: str = "SIGKILL") -> None:
    """Drive a job up to a moment."""
    dies = Moment.read(moment) if moment else None
    mortal = Doomed(dies=dies, fate=signal.Signals[number])

    def store(context: Context) -> Store:
        return cast("Store", Way(SqliteStore(context), mortal, "store"))

    app = App(Home(Path(home)), plugins=plugins(mortal), store=store, echo=print)
    async with app:
        await app.run(job)
    for one in mortal.moments:
        sys.stdout.write(f"moment {one}\n")


if __name__ == "__main__":
    run(main(*sys.argv[1:]))
