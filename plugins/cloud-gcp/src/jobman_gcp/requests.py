"""From what a job asks for to what is sent to the Cloud TPU API. Pure but for files of metadata.

Bodies are plain data under the API's own names of fields, so that nothing of Google's has to be
imported to build one.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import attrs

from jobman_core.errors import PermanentCloudError
from jobman_core.interfaces.backend import Problem
from jobman_core.models.slice import SliceRequest
from jobman_gcp.flags import Flags, WrongFlagError, read_flags

_QUEUED: Final = "queued-resources"
SSH_KEYS: Final = "ssh-keys"
_STARTUP_SCRIPT: Final = "startup-script"
_LABEL_KEY: Final = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_LABEL_VALUE: Final = re.compile(r"[a-z0-9_-]{0,63}")
_ONLY_QUEUED: Final = (
    "best_effort",
    "guaranteed",
    "reservation_host_project",
    "reservation_host_folder",
    "reservation_host_organization",
    "valid_until_duration",
    "valid_until_time",
    "valid_after_duration",
    "valid_after_time",
)
_ONLY_PLAIN: Final = ("queue_count",)
_TIMES: Final = ("duration", "time")


@attrs.frozen
class Ask:
    """One request, as it is sent."""

    project: str
    zone: str
    #: Of the node, and of the queued resource where there is one.
    name: str
    #: A queued resource is asked for, rather than a node.
    queued: bool
    #: The message's fields.
    body: Mapping[str, Any]
    #: Only the API's version v2alpha1 knows what is asked for.
    alpha: bool = False

    @property
    def parent(self) -> str:
        """Where it is sent to."""
        return parent_of(self.project, self.zone)


def parent_of(project: str, zone: str) -> str:
    """Name a project's part of a zone."""
    return f"projects/{project}/locations/{zone}"


def project_of(request: SliceRequest) -> str:
    """Give the project that a request names, which may be none.

    Raises:
        WrongFlagError: its flags cannot be read.
    """
    named = _flags(request).project or request.options.get("project")
    return str(named or "")


def problems(request: SliceRequest) -> Iterator[Problem]:
    """Say what cannot be asked for."""
    try:
        flags = _flags(request)
    except WrongFlagError as error:
        yield Problem("flags", str(error))
        return
    queued = request.mode == _QUEUED
    for key in _ONLY_PLAIN if queued else _ONLY_QUEUED:
        if getattr(flags, key):
            mode = "tpu-vm" if queued else _QUEUED
            yield Problem("flags", f"{_flag(key)}: it goes with tpu.allocation_mode: {mode}")
    for key in ("spot", "preemptible"):
        if getattr(flags, key) and request.pricing != key:
            yield Problem("flags", f"{_flag(key)}: say it with tpu.pricing: {key}")
    if len(_times(flags)) > 1:
        names = ", ".join(map(_flag, _times(flags)))
        yield Problem("flags", f"{names}: the API takes one of them: leave out the others")
    if flags.best_effort and (flags.guaranteed or request.pricing == "spot"):
        yield Problem("flags", "--best-effort: it is a pricing of its own: leave out the other")
    yield from _label_problems(flags)
    given = {
        **flags.metadata,
        **flags.metadata_from_file,
        **(request.options.get("metadata") or {}),
    }
    if _STARTUP_SCRIPT in given and request.options.get("startup_script"):
        yield Problem("startup_script", f"metadata has a {_STARTUP_SCRIPT} too: leave out one")


def _label_problems(flags: Flags) -> Iterator[Problem]:
    for key, value in flags.labels.items():
        if not _LABEL_KEY.fullmatch(key) or not _LABEL_VALUE.fullmatch(value):
            wrong = f"{key}={value} is no label: use small letters, digits, '_' and '-', at most 63"
            yield Problem("flags", f"--labels: {wrong}")
        if key.startswith("jobman-"):
            yield Problem("flags", f"--labels: {key} is jobman's own: take another")


def build(request: SliceRequest, name: str, project: str, labels: Mapping[str, str]) -> Ask:
    """Give what is sent for a request.

    Args:
        request: what a job asks for.
        name: of the slice.
        project: that pays.
        labels: whose it is.

    Raises:
        PermanentCloudError: it cannot be asked for.
    """
    for problem in problems(request):
        raise PermanentCloudError(f"tpu.{problem.key}: {problem.message}")
    flags, queued = _flags(request), request.mode == _QUEUED
    node = _node(request, flags, queued=queued)
    node["labels"] = {**flags.labels, **labels}
    ask = Ask(project, request.zone, name, queued, node)
    if not queued:
        return ask
    body: dict[str, Any] = {
        "tpu": {"node_spec": [{"parent": ask.parent, "node_id": name, "node": node}]},
        **_tier(request, flags, project),
    }
    policy = _policy(flags)
    if policy:
        body["queueing_policy"] = policy
    return attrs.evolve(ask, body=body, alpha=flags.best_effort)


def _flags(request: SliceRequest) -> Flags:
    return read_flags(request.options.get("flags") or ())


def _flag(key: str) -> str:
    return "--" + key.replace("_", "-")


def _node(request: SliceRequest, flags: Flags, *, queued: bool) -> dict[str, Any]:
    network = {
        "network": flags.network,
        "subnetwork": flags.subnetwork,
        "queue_count": flags.queue_count,
    }
    node: dict[str, Any] = {
        "accelerator_type": request.accelerator,
        "runtime_version": request.runtime,
        "network_config": {
            "enable_external_ips": not flags.internal_ips,
            **{key: value for key, value in network.items() if value},
        },
        "metadata": _metadata(request, flags),
    }
    if flags.service_account or flags.scopes:
        account = {"email": flags.service_account, "scope": list(flags.scopes)}
        node["service_account"] = {key: value for key, value in account.items() if value}
    tags = [*(request.options.get("tags") or ()), *flags.tags]
    if tags:
        node["tags"] = list(dict.fromkeys(tags))
    if flags.description:
        node["description"] = flags.description
    if flags.range:
        node["cidr_block"] = flags.range
    if flags.data_disk:
        node["data_disks"] = [dict(disk) for disk in flags.data_disk]
    if flags.shielded_secure_boot:
        node["shielded_instance_config"] = {"enable_secure_boot": True}
    if not queued:
        node["scheduling_config"] = {
            "preemptible": request.pricing == "preemptible",
            "reserved": flags.reserved,
            "spot": request.pricing == "spot",
        }
    return node


def _metadata(request: SliceRequest, flags: Flags) -> dict[str, str]:
    metadata = {key: _content(path) for key, path in flags.metadata_from_file.items()}
    metadata |= dict(flags.metadata)
    metadata |= {key: str(value) for key, value in (request.options.get("metadata") or {}).items()}
    if script := request.options.get("startup_script"):
        metadata[_STARTUP_SCRIPT] = str(script)
    keys = [line for line in metadata.get(SSH_KEYS, "").splitlines() if line.strip()]
    keys += request.public_keys
    if keys:
        metadata[SSH_KEYS] = "\n".join(dict.fromkeys(keys))
    return metadata


def _content(path: str) -> str:
    try:
        return Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise PermanentCloudError(
            f"tpu.flags: --metadata-from-file: {path} cannot be read: {error}"
        ) from error


def _tier(request: SliceRequest, flags: Flags, project: str) -> dict[str, Any]:
    """Say how a queued resource is paid for, and out of which reservation."""
    tier: dict[str, Any] = {}
    if flags.best_effort:
        tier["best_effort"] = {}
    elif request.pricing in {"spot", "preemptible"}:
        # Queued resources know preemptible ones by their newer name only.
        tier["spot"] = {}
    elif flags.guaranteed:
        tier["guaranteed"] = {}
    hosts = {
        "projects": flags.reservation_host_project or (project if flags.reserved else ""),
        "folders": flags.reservation_host_folder,
        "organizations": flags.reservation_host_organization,
    }
    # One that is named goes before the project's own.
    for kind in ("folders", "organizations", "projects"):
        if hosts[kind]:
            zone = request.zone
            tier["reservation_name"] = f"{kind}/{hosts[kind]}/locations/{zone}/reservations/-"
            break
    return tier


def _times(flags: Flags) -> dict[str, Any]:
    """Say when a queued resource is of use; durations are seconds."""
    names = (f"valid_{which}_{kind}" for which in ("until", "after") for kind in _TIMES)
    return {name: value for name in names if (value := getattr(flags, name)) is not None}


def _policy(flags: Flags) -> dict[str, Any]:
    return {
        name: value if isinstance(value, datetime) else {"seconds": value}
        for name, value in _times(flags).items()
    }
