"""What ``gcloud compute tpus tpu-vm ssh`` asks of the Compute API: the project."""

from typing import Any

from aiohttp import web

from jobman_emulator.rest_door import reply_json
from jobman_emulator.rules import PROJECT_NUMBER


def add_compute(app: web.Application) -> None:
    """Let an application serve it."""
    app.router.add_get("/compute/v1/projects/{project}", _project)


async def _project(request: web.Request) -> web.Response:
    name = request.match_info["project"]
    document: dict[str, Any] = {
        "kind": "compute#project",
        "id": str(PROJECT_NUMBER),
        "name": name,
        # gcloud decodes the fingerprint.
        "commonInstanceMetadata": {"kind": "compute#metadata", "fingerprint": "am9ibWFu"},
        "selfLink": f"https://www.googleapis.com/compute/v1/projects/{name}",
        "xpnProjectStatus": "UNSPECIFIED_XPN_PROJECT_STATUS",
        "defaultServiceAccount": f"{PROJECT_NUMBER}-compute@developer.gserviceaccount.com",
    }
    return reply_json(document)
