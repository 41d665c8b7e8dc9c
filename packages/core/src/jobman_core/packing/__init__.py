"""What of a local folder is shipped to hosts, and the archive that it becomes."""

from jobman_core.packing.archive import Archive, pack
from jobman_core.packing.keeping import keep, kept, of_run, packed, snapshot_of
from jobman_core.packing.listing import LARGEST, Listing, in_units, list_folder

__all__ = [
    "LARGEST",
    "Archive",
    "Listing",
    "in_units",
    "keep",
    "kept",
    "list_folder",
    "of_run",
    "pack",
    "packed",
    "snapshot_of",
]
