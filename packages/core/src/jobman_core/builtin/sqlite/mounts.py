"""What kind of file system a folder lies on."""

from pathlib import Path
from typing import Final

#: File systems under which WAL's shared memory, and often locks, do not hold between machines.
_NETWORK: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "lustre", "ceph", "glusterfs", "afs", "gfs2"}
    | {"ocfs2", "beegfs", "gpfs", "panfs", "davfs", "virtiofs", "orangefs"}
)


def is_network(path: Path, mounts: Path = Path("/proc/self/mounts")) -> bool:
    """Tell whether a folder lies on a file system that other machines may use too."""
    kind = _file_system(path.resolve(), mounts)
    return kind in _NETWORK or kind.startswith("fuse.")


def _file_system(path: Path, mounts: Path) -> str:
    """Give the type of the mount that holds a path; empty where that is not known."""
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ""
    best, kind = -1, ""
    for line in lines:
        match line.split():
            case [_, point, type_, *_]:
                pass
            case _:
                continue
        # Blanks in a mount point are written as octal escapes, see fstab(5).
        point = point.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        # Of mounts on one point the last one is seen.
        if path.is_relative_to(point) and len(point) >= best:
            best, kind = len(point), type_
    return kind
