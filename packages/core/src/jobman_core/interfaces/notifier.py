"""Notifiers: who is told what happened."""

from abc import abstractmethod
from collections.abc import Sequence

from jobman_core.interfaces.backend import Backend
from jobman_core.models.notice import Notice


class Notifier(Backend):
    """Delivers notices; what it delivered is recorded, so that nothing is told twice.

    Those whose section stands below ``notifiers`` in ``jobman.yaml`` are used (``{}`` is enough),
    in one process of a home at a time, whichever of them lives: a controller, or the bot.
    """

    @abstractmethod
    async def deliver(self, notices: Sequence[Notice]) -> None:
        """Tell of these notices, coalesced as fits the medium.

        They come in their order, and those that nobody is to hear of do not come. A process that is
        killed between this and the record of it gives the same notices again, perhaps with more:
        :attr:`Notice.event` tells them apart. Texts hold whatever a file or a program said. It may
        take two minutes.

        Raises:
            JobmanError: nothing was delivered; the same notices come again later.
        """
