"""Slices of Google Cloud TPU for jobman."""

from jobman_core import hookimpl
from jobman_core.interfaces.cloud import Cloud
from jobman_gcp.cloud import GcpCloud

__all__ = ["GcpCloud", "jobman_clouds"]


@hookimpl
def jobman_clouds() -> list[type[Cloud]]:
    """Bring the cloud called ``gcp``."""
    return [GcpCloud]
