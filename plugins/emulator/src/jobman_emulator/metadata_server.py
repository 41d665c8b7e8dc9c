"""The metadata server of one host, as programs and agents on it ask it."""

import asyncio
import hashlib
import json
import socket
from collections.abc import Mapping

from aiohttp import web

#: Where every host finds its own.
ADDRESS = "169.254.169.254"
_FLAVOR = {"Metadata-Flavor": "Google", "Server": "Metadata Server for VM"}
#: Seconds that a wait for a change takes if the client does not say.
_PATIENCE = 3600.0

#: What is found below a path: a value, or a folder of more.
Tree = str | Mapping[str, "Tree"]


class MetadataServer:
    """What a host is told: read by path, listed by folder, and waited for.

    It answers only those who say ``Metadata-Flavor: Google``, as the real one does.
    """

    def __init__(self, instance: Mapping[str, Tree], project: Mapping[str, Tree]) -> None:
        """Start with what is below ``/computeMetadata/v1/instance`` and ``…/project``."""
        self._instance = dict(instance)
        self._tree: Tree = {"instance": self._instance, "project": project}
        self._changed = asyncio.Event()
        self._runner: web.AppRunner | None = None

    async def serve(self, listening: socket.socket) -> None:
        """Answer on a socket, which is closed in the end."""
        app = web.Application()
        app.router.add_get("/", self._greet)
        app.router.add_get("/computeMetadata/v1{path:.*}", self._answer)
        # What waits for a change is cut off when the host is; 0 would be for ever.
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.01)
        await self._runner.setup()
        await web.SockSite(self._runner, listening).start()

    async def aclose(self) -> None:
        """Answer no more."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def change(self, name: str, value: Tree) -> None:
        """Tell something else of the instance from now on, and those at once who wait for it."""
        self._instance[name] = value
        self._changed.set()
        self._changed = asyncio.Event()

    async def _greet(self, request: web.Request) -> web.Response:
        del request
        return web.Response(text="computeMetadata/\n", headers=_FLAVOR)

    async def _answer(self, request: web.Request) -> web.Response:
        if request.headers.get("Metadata-Flavor") != "Google":
            return web.Response(
                status=403, text="Missing required header: Metadata-Flavor: Google\n"
            )
        found = self._find(request)
        if found is not None and request.query.get("wait_for_change", "").lower() == "true":
            known = request.query.get("last_etag", _etag(found))
            try:
                limit = float(request.query.get("timeout_sec", _PATIENCE))
            except ValueError:
                return web.Response(status=400, text="timeout_sec is no number\n")
            found = await self._other_than(known, request, limit)
        if found is None:
            return web.Response(status=404, text="Not Found\n", headers=_FLAVOR)
        kind = "application/json" if _is_deep(request) else "application/text"
        headers = {**_FLAVOR, "ETag": _etag(found)}
        return web.Response(text=found, content_type=kind, headers=headers)

    async def _other_than(self, known: str, request: web.Request, limit: float) -> str | None:
        """Wait until what is asked for differs from what the client knows."""
        try:
            async with asyncio.timeout(limit):
                while (found := self._find(request)) is not None and _etag(found) == known:
                    await self._changed.wait()
        except TimeoutError:
            return self._find(request)
        return found

    def _find(self, request: web.Request) -> str | None:
        """Give what a path holds; None: nothing is there."""
        here = self._tree
        for name in filter(None, request.match_info["path"].split("/")):
            if isinstance(here, str) or name not in here:
                return None
            here = here[name]
        if isinstance(here, str):
            return here
        if _is_deep(request):
            return json.dumps(here)
        return "".join(f"{name}{'' if isinstance(here[name], str) else '/'}\n" for name in here)


def _is_deep(request: web.Request) -> bool:
    return request.query.get("recursive", "").lower() == "true"


def _etag(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
