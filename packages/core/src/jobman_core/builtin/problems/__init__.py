"""What goes wrong on machines that work one job after the other: checks with their remedies.

Each is a shell script beside this that has functions ``check`` and ``mend``. Before an attempt
those of the accelerator are not asked, since a launch frees it by itself, and dead mounts are not
unmounted, since a program that finds an empty folder instead would work on, for nothing: a storage
has checks of its own, which mount it again.
"""

from importlib.resources import files
from typing import Final

from jobman_core.interfaces.problem import HostProblem

_AGAIN: Final = "jobman reboot ID --force"


def problems() -> list[HostProblem]:
    """Give them, in the order in which remedies make sense."""
    return [
        _of(
            "chips",
            "end the processes that hold the accelerator, and remove the lock file that they leave",
            machine=True,
        ),
        _of("lock", "remove the lock file", machine=True),
        _of(
            "disk",
            "remove what can be made again: caches of apt and pip, old journals, and libtpu's "
            "logs of earlier days",
            cheap=True,
            machine=True,
        ),
        _of("owner", "give them back to the host's user", cheap=True, machine=True, gentle=True),
        _of("clock", "restart the service that keeps the time", cheap=True, machine=True),
        _of(
            "mounts",
            f"unmount them: storage of the job is mounted again, and `{_AGAIN}` mounts the rest",
            machine=True,
        ),
        _of(
            "keys",
            f"let nobody else read them; `{_AGAIN}` brings those that are missing",
            gentle=True,
        ),
    ]


def _of(
    name: str,
    text: str,
    *,
    cheap: bool = False,
    machine: bool = False,
    gentle: bool = False,
) -> HostProblem:
    folder = files(__name__)
    parts = (
        folder.joinpath(file).read_text(encoding="utf-8") for file in ("as_root.sh", f"{name}.sh")
    )
    script = "".join(parts)
    return HostProblem(
        *(name, f"{script}\ncheck\n", f"{script}\nmend\n", text),
        cheap=cheap,
        machine=machine,
        gentle=gentle,
    )
