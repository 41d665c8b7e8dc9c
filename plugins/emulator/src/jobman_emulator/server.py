"""The emulator as a whole, in the running loop: it listens on loopback only."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from aiohttp import web

from jobman_emulator.compute_door import add_compute
from jobman_emulator.control import Control, add_control
from jobman_emulator.faults import Faults
from jobman_emulator.grpc_door import serve_grpc
from jobman_emulator.limits import Limits
from jobman_emulator.lives import Lives, Pace
from jobman_emulator.machines import Machines, NoMachines
from jobman_emulator.rest_door import add_rest, errors_as_json, reply_json
from jobman_emulator.service import Tpu
from jobman_emulator.state import State

if TYPE_CHECKING:
    import grpc

_HOST: Final = "127.0.0.1"
#: The project that the variables name; any other is answered as well.
PROJECT: Final = "emulated"


class Emulator:
    """An emulated Cloud TPU, used as an async context manager.

    It is no security boundary: whoever reaches this machine's loopback can do all with it.
    """

    def __init__(
        self,
        machines: Machines | None = None,
        *,
        provisioning: float = 1.0,
        deleting: float = 0.3,
        suspending: float = 0.3,
        grpc_port: int = 0,
        rest_port: int = 0,
    ) -> None:
        """Make one; nothing listens yet.

        Args:
            machines: where hosts come from, closed at the end; none: nothing answers there.
            provisioning: seconds from a request until hosts boot.
            deleting: seconds from the end of the hosts until a deleted name is free.
            suspending: seconds from one state of a preemption to the next.
            grpc_port: 0 takes a free one.
            rest_port: the same.
        """
        self.machines = machines or NoMachines()
        self._pace = Pace(provisioning, deleting, suspending)
        self._ports = (grpc_port, rest_port)
        self.state = State(lambda: datetime.now(UTC))
        faults = Faults()
        limits = Limits(self.state)
        self._lives = Lives(self.state, self.machines, faults, limits, self._pace)
        self._tpu = Tpu(self.state, self._lives, faults)
        #: The verbs that make trouble.
        self.control = Control(self._tpu, self._lives)
        #: ``127.0.0.1:PORT``, once it runs.
        self.grpc = ""
        #: ``http://127.0.0.1:PORT``, once it runs.
        self.rest = ""
        self._server: grpc.aio.Server | None = None
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        """Open both doors.

        Raises:
            OSError: a port is taken.
        """
        try:
            await self._open()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the doors, and end all hosts."""
        await self._close()

    def env(self, gcloud_folder: Path | None = None) -> Mapping[str, str]:
        """Give the variables that point jobman and gcloud here.

        Args:
            gcloud_folder: a folder for gcloud's own settings, so that it leaves the user's alone.
        """
        env = {
            "TPU_EMULATOR_HOST": self.grpc,
            "GOOGLE_CLOUD_PROJECT": PROJECT,
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU": f"{self.rest}/",
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE": f"{self.rest}/compute/v1/",
            "CLOUDSDK_AUTH_DISABLE_CREDENTIALS": "true",
            "CLOUDSDK_CORE_PROJECT": PROJECT,
        }
        return {**env, **({"CLOUDSDK_CONFIG": str(gcloud_folder)} if gcloud_folder else {})}

    async def _open(self) -> None:
        grpc_port, rest_port = self._ports
        try:
            self._server, grpc_port = await serve_grpc(self._tpu, _HOST, grpc_port)
        except RuntimeError as error:
            raise OSError(f"port {grpc_port} is taken: choose another one") from error
        app = web.Application(middlewares=[errors_as_json])
        app.router.add_post("/emulator/close", self._clear)
        add_control(app, self.control)
        add_compute(app, self._tpu)
        add_rest(app, self._tpu)
        # A client that is cut off leaves its call to run on: the cloud does that, too.
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=False)
        await self._runner.setup()
        await web.TCPSite(self._runner, _HOST, rest_port).start()
        rest_port = self._runner.addresses[0][1]
        self.grpc, self.rest = f"{_HOST}:{grpc_port}", f"http://{_HOST}:{rest_port}"

    async def _clear(self, _request: web.Request) -> web.Response:
        """End all that there is, and tell what is left."""
        await self._lives.aclose()
        await self.machines.aclose()
        return reply_json({"processes": self.machines.processes()})

    async def _close(self) -> None:
        if self._server:
            await self._server.stop(grace=None)
        if self._runner:
            await self._runner.cleanup()
        await self._lives.aclose()
        await asyncio.shield(self.machines.aclose())
