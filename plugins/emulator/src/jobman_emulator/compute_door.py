"""The Compute API over REST, which is the only way that it has."""

from aiohttp import web

from jobman_emulator.apis.compute import PATHS
from jobman_emulator.rest_door import reply_json
from jobman_emulator.service import Tpu


def add_compute(app: web.Application, tpu: Tpu) -> None:
    """Let an application serve it."""

    def add(name: str, path: str) -> None:
        async def answer(request: web.Request) -> web.Response:
            return reply_json(await tpu.call(name, dict(request.match_info), "v1"))

        app.router.add_get(f"/compute/v1/{path}", answer)

    for name, path in PATHS.items():
        add(name, path)
