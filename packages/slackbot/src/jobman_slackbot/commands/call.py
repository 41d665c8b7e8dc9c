"""Somebody's wish: who has it, where, and how they are answered."""

import hashlib
import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol

import attrs

from jobman_core.app import App
from jobman_core.errors import InvalidInputError, NotFoundError, NotYoursError, lines_of
from jobman_slackbot import people, text
from jobman_slackbot.blocks import View
from jobman_slackbot.config import BotConfig
from jobman_slackbot.people import Deed, Person
from jobman_slackbot.slack import Slack
from jobman_slackbot.views import queues

#: Shows something to who asked alone; with True in place of what they pressed.
Answer = Callable[[View, bool], Awaitable[None]]

_LINE: Final = 1000
#: Commands that remedies name, and that people can write here as they stand.
_HERE: Final = re.compile(
    r"`jobman ((?:list|queue|show|logs|stop|resume|reboot|delete|reap)(?: [\w ]+)?)`"
)


class Bot(Protocol):
    """What commands need of the bot."""

    @property
    def config(self) -> BotConfig:
        """What ``bot.yaml`` says."""

    @property
    def app(self) -> App:
        """The home, open."""

    @property
    def slack(self) -> Slack:
        """Where everybody is told."""


@attrs.frozen
class Call:
    """A command, or the press of a button, of somebody who may see what there is."""

    bot: Bot
    person: Person
    #: Where it was written.
    channel: str
    #: Works more than once, for so long as Slack lets it: five times within half an hour.
    respond: Answer
    #: Gives the time.
    now: Callable[[], datetime]
    #: It was a button of a message that only this person sees.
    pressed: bool = False

    @property
    def app(self) -> App:
        """The home, with the rights of a user: what is another's is refused by it as well."""
        return self.bot.app.acting_for(self.user)

    @property
    def user(self) -> str:
        """The jobman user; of a viewer, who is none, a name that has no jobs."""
        return self.person.user or self.person.id

    def app_for(self, deed: Deed) -> App:
        """Give the home with the rights that a deed needs and the person has."""
        return self.bot.app.acting_for(self.user, admin=self.person.for_all(deed))

    def check(self, deed: Deed, owner: str | None = None) -> None:
        """Make sure of a right.

        Raises:
            NotYoursError: they may not do that.
        """
        refused = people.refusal(self.person, deed, owner)
        if refused is not None:
            raise NotYoursError(refused)

    async def answer(self, view: View) -> None:
        """Show something to who asked alone; what they pressed gives way to it."""
        await self.respond(view, self.pressed)

    async def say(self, line: str) -> None:
        """Say something in words of markup to who asked alone."""
        await self.answer(View(line))

    async def beside(self, line: str) -> None:
        """Say something beside what was pressed, which stays."""
        await self.respond(View(line), False)

    async def tell_all(self, line: str) -> None:
        """Tell the channel what was done; markup."""
        everywhere = self.channel if not self.channel.startswith("D") else self.bot.config.channel
        await self.bot.slack.post(everywhere, line)

    async def hand(self, name: str, data: bytes, title: str) -> None:
        """Hand somebody a file, where only they see it."""
        direct = await self.bot.slack.direct(self.person.id)
        await self.bot.slack.upload(direct, name, data, title=title)

    # -- queues ----------------------------------------------------------------------------

    async def queue_names(self) -> dict[str, Path]:
        """Give the queues of the home by what people call them."""
        known = await self.app.queues()
        return {queues.name_of(path, known): path for path in known}

    async def queue(self, name: str | None) -> tuple[str, Path]:
        """Give the queue that is meant, with its name; it is compared with those there are.

        Raises:
            NotFoundError: there is none.
            InvalidInputError: it may be several.
        """
        known = await self.queue_names()
        if not known:
            msg = "this home has no queue: a job with `job.queue` opens one"
            raise NotFoundError(msg)
        fits = _meant(name, known)
        if len(fits) == 1:
            return fits[0], known[fits[0]]
        there = ", ".join(fits or known)
        if name is None:
            msg = f"this home has {len(known)} queues: name one of {there}"
        elif fits:
            msg = f"{name!r} fits several queues: write one of {there}"
        else:
            msg = f"there is no queue {name!r}: this home has {there}"
        raise (InvalidInputError if fits or name is None else NotFoundError)(msg)

    async def queue_of_task(self, task: str, name: str | None) -> tuple[str, Path]:
        """Give the queue that a task is in: the one that is named, or the only one that has it.

        Raises:
            NotFoundError: none has it.
            InvalidInputError: several have.
        """
        known = await self.queue_names() if name is None else dict([await self.queue(name)])
        fits = [one for one, path in known.items() if await self._has(path, task)]
        if len(fits) == 1:
            return fits[0], known[fits[0]]
        if fits:
            msg = f"task {task!r} is in {', '.join(fits)}: write the queue's name behind it"
            raise InvalidInputError(msg)
        msg = f"there is no task {task!r} in {', '.join(known) or 'this home'}: "
        raise NotFoundError(msg + "`/jobman queue` shows those there are")

    async def _has(self, path: Path, task: str) -> bool:
        try:
            await self.app.queue_task(path, task)
        except NotFoundError:
            return False
        return True


def queue_key(path: Path) -> str:
    """Give what a button names a queue by: never a path."""
    return hashlib.sha256(str(path).encode()).hexdigest()[:16]


def one_line(error: BaseException) -> str:
    """Give an error as people read it on the command line, in markup, with commands of here."""
    told = "; ".join(line.removeprefix("error: ") for line in lines_of(error))
    told = _HERE.sub(r"`/jobman \1`", told)
    return f":warning: {text.prose(told, _LINE)}"


def _meant(name: str | None, known: Sequence[str] | dict[str, Path]) -> list[str]:
    """Give the names that may be meant by what somebody wrote."""
    if name is None or name in known:
        return [name] if name else list(known)
    return [one for one in known if Path(one).stem == name or one.endswith(f"/{name}")]
