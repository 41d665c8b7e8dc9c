"""What every notifier must do."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import ClassVar

import pytest

from jobman_core.errors import JobmanError
from jobman_core.interfaces.notifier import Notifier
from jobman_core.models.notice import Audience, Notice, NoticeKind

#: What a program, a file or a person may have written where a notice quotes it.
HOSTILE = (
    "two\nlines\r\nand\ttabs",
    "a NUL \0 and \x1b[31m escapes \x07",
    "x" * 40_000,
    "<!channel> <@U012345> *bold* `code` &amp; <https://example.org|here>",
    "From: me@example.org\r\nBcc: all@example.org\r\n\r\n.\r\n",
    "\N{SNOWMAN} \N{RIGHT-TO-LEFT OVERRIDE}abc \ud800 \U0001f680",
    "",
)


def notice(event: int, text: str = "", **changes: object) -> Notice:
    """Make one whose text says its number."""
    whole = {
        "event": event,
        "at": datetime(2026, 1, 1, 12, tzinfo=UTC),
        "kind": NoticeKind.PREEMPTED,
        "about": f"job 000001 event {event}",
        "text": f"{mark(event)} {text}".rstrip(" "),
        "user": "ada",
        "job": "000001",
    }
    return Notice(**{**whole, **changes})  # type: ignore[arg-type]


def mark(event: int) -> str:
    """Give a word that stands in that notice alone."""
    return f"number-{event}-"


class NotifierContract:
    """Subclass it with the fixtures ``make``, ``told`` and ``broken``."""

    #: So many notices at once; people need not see the text of each.
    many: ClassVar[int] = 500

    @pytest.fixture
    @abstractmethod
    def make(self) -> Callable[[], Notifier]:
        """Give what makes a notifier; each has the same medium, as after a restart."""

    @pytest.fixture
    @abstractmethod
    def told(self) -> Callable[[], Sequence[str]]:
        """Give what gives all that people have been told, in its order, message by message.

        What a medium's readers see once, like mails of one Message-ID, counts once.
        """

    @pytest.fixture
    @abstractmethod
    def broken(self) -> Callable[[], AbstractContextManager[None]]:
        """Give what lets nobody be reached for the length of a block."""

    async def test_everything_is_told_in_its_order(
        self, make: Callable[[], Notifier], told: Callable[[], Sequence[str]]
    ) -> None:
        notifier = make()
        await notifier.deliver([notice(1), notice(2)])
        await notifier.deliver([notice(3)])
        text = "\n".join(told())
        places = [text.find(mark(event)) for event in (1, 2, 3)]
        assert places == sorted(places)
        assert -1 not in places

    async def test_every_kind_and_every_audience_can_be_told(
        self, make: Callable[[], Notifier], told: Callable[[], Sequence[str]]
    ) -> None:
        kinds = [notice(number, kind=kind) for number, kind in enumerate(NoticeKind)]
        ownerless = notice(100, user=None, job=None, kind=NoticeKind.REAPED)
        task = notice(101, queue="/lab/tasks.yaml", task="a", kind=NoticeKind.FAILED)
        owner = notice(102, to=Audience.OWNER)
        await make().deliver([*kinds, ownerless, task, owner])
        text = "\n".join(told())
        for each in (*kinds, ownerless, task, owner):
            assert mark(each.event) in text

    async def test_what_could_not_be_delivered_is_an_error_and_is_told_when_it_comes_again(
        self,
        make: Callable[[], Notifier],
        told: Callable[[], Sequence[str]],
        broken: Callable[[], AbstractContextManager[None]],
    ) -> None:
        notifier, notices = make(), [notice(1), notice(2)]
        with broken(), pytest.raises(JobmanError) as refused:
            await notifier.deliver(notices)
        assert "\n" not in str(refused.value)
        assert not told()
        await notifier.deliver(notices)
        text = "\n".join(told())
        assert [text.count(mark(event)) for event in (1, 2)] == [1, 1]

    async def test_what_comes_again_after_a_restart_is_seen_once(
        self, make: Callable[[], Notifier], told: Callable[[], Sequence[str]]
    ) -> None:
        notices = [notice(1), notice(2)]
        await make().deliver(notices)
        await make().deliver(notices)
        text = "\n".join(told())
        assert [text.count(mark(event)) for event in (1, 2)] == [1, 1]

    @pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
    async def test_any_text_is_told_and_disturbs_nothing_after_it(
        self, make: Callable[[], Notifier], told: Callable[[], Sequence[str]], text: str
    ) -> None:
        notifier = make()
        await notifier.deliver([notice(1, text, task=text, queue=text)])
        await notifier.deliver([notice(2)])
        said = "\n".join(told())
        assert mark(1) in said
        assert mark(2) in said

    async def test_very_many_at_once_are_told(
        self, make: Callable[[], Notifier], told: Callable[[], Sequence[str]]
    ) -> None:
        notifier = make()
        await notifier.deliver([notice(event) for event in range(self.many)])
        await notifier.deliver([notice(self.many)])
        text = "\n".join(told())
        assert mark(0) in text
        assert mark(self.many) in text

    async def test_nothing_to_tell_is_no_message(
        self, make: Callable[[], Notifier], told: Callable[[], Sequence[str]]
    ) -> None:
        await make().deliver([])
        assert not told()
