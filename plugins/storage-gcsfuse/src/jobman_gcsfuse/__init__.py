"""Buckets of Google Cloud Storage as folders, by gcsfuse, for jobman."""

from jobman_core import hookimpl
from jobman_core.interfaces.storage import Storage
from jobman_gcsfuse.storage import Gcsfuse

__all__ = ["Gcsfuse", "jobman_storages"]


@hookimpl
def jobman_storages() -> list[type[Storage]]:
    """Bring the storage called ``gcsfuse``."""
    return [Gcsfuse]
