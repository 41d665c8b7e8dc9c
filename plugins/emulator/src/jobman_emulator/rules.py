"""What the API refuses of a request before anything is made."""

import re
from collections.abc import Mapping
from typing import Final

from google.cloud.tpu_v2alpha1.types import cloud_tpu as api

from jobman_emulator.catalog import KINDS, RUNTIMES, kinds_of, region_of
from jobman_emulator.errors import invalid
from jobman_emulator.state import place_of

_ID: Final = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_KEY: Final = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_VALUE: Final = re.compile(r"[a-z0-9_-]{0,63}")
#: Of every project.
PROJECT_NUMBER: Final = 123456789012
#: The fields of a node that an update may change.
CHANGEABLE: Final = frozenset({"description", "labels", "metadata", "tags"})


def check_id(field: str, value: str) -> None:
    """Let an id pass, or not.

    Raises:
        ApiError: it is none.
    """
    if not _ID.fullmatch(value):
        raise invalid(
            f'Invalid {field} "{value}": it must match ^[a-z]([-a-z0-9]{{0,61}}[a-z0-9])?$'
        )


def check_labels(labels: Mapping[str, str]) -> None:
    """Let labels pass, or not.

    Raises:
        ApiError: a key or a value has characters, or a length, that labels cannot have.
    """
    for key, value in labels.items():
        if not _KEY.fullmatch(key):
            raise invalid(f'Invalid label key "{key}": it must match [a-z][a-z0-9_-]{{0,62}}')
        if not _VALUE.fullmatch(value):
            raise invalid(
                f'Invalid value "{value}" of label "{key}": it must match [a-z0-9_-]{{0,63}}'
            )


def complete(node: api.Node, parent: str) -> None:
    """Check what a node is to be, and add what the API adds.

    Raises:
        ApiError: a label, a type that the zone has not, or a runtime that there is not.
    """
    project, zone = place_of(parent)
    check_labels(node.labels)
    _complete_type(node, zone)
    if node.runtime_version not in RUNTIMES:
        raise invalid(
            f'Cloud TPU received a bad request. invalid RuntimeVersion, "{node.runtime_version}" '
            f"for zone {zone}; valid values are {', '.join(RUNTIMES)}"
        )
    network = node.network_config
    network.network = _full(network.network or "default", f"projects/{project}/global/networks")
    network.subnetwork = _full(
        network.subnetwork or "default",
        f"projects/{project}/regions/{region_of(zone)}/subnetworks",
    )
    node.network_config = network
    account = node.service_account
    account.email = account.email or f"{PROJECT_NUMBER}-compute@developer.gserviceaccount.com"
    account.scope = account.scope or ["https://www.googleapis.com/auth/cloud-platform"]
    node.service_account = account
    node.api_version = api.Node.ApiVersion.V2_ALPHA1
    for field in ("state", "network_endpoints", "health", "queued_resource", "create_time"):
        # They are the cloud's to say.
        delattr(node, field)


def _full(name: str, parent: str) -> str:
    return name if "/" in name else f"{parent}/{name}"


def _complete_type(node: api.Node, zone: str) -> None:
    config = node.accelerator_config
    if not node.accelerator_type and config.type_:
        for kind in KINDS.values():
            if (kind.generation, kind.topology) == (config.type_.name, config.topology):
                node.accelerator_type = kind.type
    kinds = {kind.type: kind for kind in kinds_of(zone)}
    chosen = kinds.get(node.accelerator_type)
    if chosen is None:
        valid = ", ".join(f'"{name}"' for name in kinds)
        raise invalid(
            f"Cloud TPU received a bad request. invalid AcceleratorType, "
            f'"{node.accelerator_type}" for zone {zone}; valid values are {valid}'
        )
    node.accelerator_config = api.AcceleratorConfig(
        type_=api.AcceleratorConfig.Type[chosen.generation], topology=chosen.topology
    )
