"""Notices by e-mail for jobman."""

from jobman_core import hookimpl
from jobman_core.interfaces.notifier import Notifier
from jobman_email.notifier import Email

__all__ = ["Email", "jobman_notifiers"]


@hookimpl
def jobman_notifiers() -> list[type[Notifier]]:
    """Bring the notifier called ``email``."""
    return [Email]
