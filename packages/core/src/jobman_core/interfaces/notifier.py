"""Notifiers: who is told what happened."""

from abc import abstractmethod
from collections.abc import Sequence

from jobman_core.interfaces.backend import Backend
from jobman_core.models.event import Event


class Notifier(Backend):
    """Delivers events; what it delivered is recorded, so that nothing is told twice."""

    @abstractmethod
    async def deliver(self, events: Sequence[Event]) -> None:
        """Tell of these events, coalesced as fits the medium.

        Raises:
            JobmanError: nothing was delivered; the same events come again later.
        """
