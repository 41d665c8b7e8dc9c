"""The scripts that put code into a work folder on a host."""

from importlib import resources


def script_of(name: str) -> str:
    """Give a script of this package, behind what all of these share.

    Args:
        name: ``checkout.sh``, ``unpack.sh``.
    """
    folder = resources.files("jobman_core.run")
    parts = (folder.joinpath(each).read_text(encoding="utf-8") for each in ("work_folder.sh", name))
    return "\n".join(parts)
