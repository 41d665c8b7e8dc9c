"""A notifier that puts notices up on a board in memory, for tests of what stands above it."""

from collections.abc import Sequence

from jobman_core.errors import CommandFailedError
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.notifier import Notifier
from jobman_core.models.notice import Notice


class FakeNotifier(Notifier):
    """Puts each notice up once, whoever comes with it again."""

    name = "fake"

    def __init__(self, context: Context, board: dict[int, Notice] | None = None) -> None:
        """Begin with a board of its own, or go on with another's."""
        super().__init__(context)
        #: What everybody sees, by event.
        self.board: dict[int, Notice] = {} if board is None else board
        #: Why nothing can be delivered; None: it can.
        self.broken: str | None = None

    async def deliver(self, notices: Sequence[Notice]) -> None:
        """Put up what does not hang there yet."""
        if self.broken is not None:
            raise CommandFailedError(self.broken)
        for notice in notices:
            self.board.setdefault(notice.event, notice)
