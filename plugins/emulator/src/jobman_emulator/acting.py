"""How the verbs of ``jobman emulator`` reach the one that runs."""

from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobman_emulator.daemon import Daemon


def daemon() -> "Daemon":
    """Give this user's emulator, whether it runs or not."""
    from jobman_emulator.daemon import Daemon, own_folder

    return Daemon(own_folder())


def act(ctx: typer.Context, verb: str, **arguments: Any) -> None:  # noqa: ANN401 - JSON
    """Call a verb; with ``--json`` its answer is shown.

    Raises:
        JobmanError: it is not carried out.
    """
    from jobman_emulator.daemon import call

    answer: Mapping[str, Any] = call(daemon().facts(), "POST", verb, arguments)
    if ctx.obj.json:
        ctx.obj.document(answer)
