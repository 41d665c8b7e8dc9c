"""Where charts go that a command draws."""

from pathlib import Path

from jobman_cli import output
from jobman_cli.front import Front


def check(front: Front, *, csv: bool, plot: Path | None) -> None:
    """Refuse what cannot be meant, before anything is asked.

    Raises:
        InvalidInputError: two ways to print the same, or a chart that is no PNG.
    """
    from jobman_core.errors import InvalidInputError

    if csv and front.json:
        msg = "--csv and --json are two ways to print the same: choose one"
        raise InvalidInputError(msg)
    if plot is not None and plot.suffix.lower() != ".png":
        msg = f"a chart is a PNG, which {str(plot)!r} does not say: call it {plot.stem}.png"
        raise InvalidInputError(msg)


def write(front: Front, path: Path, picture: bytes) -> None:
    """Write a chart.

    Raises:
        InvalidInputError: it cannot be written there.
    """
    try:
        path.write_bytes(picture)
    except OSError as error:
        from jobman_core.errors import InvalidInputError

        why = error.strerror or str(error)
        msg = f"the chart cannot be written to {path} ({why}): name another place"
        raise InvalidInputError(msg) from error
    front.note(f"drew {output.clean(str(path))}")
