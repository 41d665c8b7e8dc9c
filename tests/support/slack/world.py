"""A workspace: its people, channels, messages and files, as people would see them."""

import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

import attrs
from tests.support.slack.plain import buttons_of, pings_of, plain_of

Json = dict[str, Any]

TEAM = "T00LOOP00"
APP = "A00LOOP00"
#: The bot's ids: as a person, and as a bot.
BOT_USER = "U00BOT000"
BOT = "B00BOT000"


@attrs.frozen
class Person:
    """Somebody of the workspace."""

    id: str
    name: str
    email: str
    gone: bool = False


@attrs.frozen
class File:
    """Something uploaded."""

    id: str
    name: str
    title: str
    content: bytes
    snippet_type: str | None = None
    alt: str | None = None


@attrs.define(eq=False)
class Message:
    """A message, as it stands now; ``edits`` has what it was before."""

    channel: str
    ts: str
    #: Who wrote it.
    user: str
    text: str = ""
    blocks: list[Json] = attrs.field(factory=list)
    attachments: list[Json] = attrs.field(factory=list)
    metadata: Json | None = None
    #: The message that it answers.
    thread: str | None = None
    #: The only one who sees it.
    only_to: str | None = None
    files: list[File] = attrs.field(factory=list)
    edits: list["Message"] = attrs.field(factory=list)
    deleted: bool = False

    @property
    def plain(self) -> str:
        """All that a person reads of it, buttons as ``[text]``."""
        return plain_of(self.text, self.blocks, self.attachments, [f.title for f in self.files])

    @property
    def buttons(self) -> list[Json]:
        """Its buttons and menus, each with the id of its block as ``block_id``."""
        return buttons_of(
            [*self.blocks, *(b for a in self.attachments for b in a.get("blocks", []))]
        )

    @property
    def pings(self) -> set[str]:
        """Whom it calls: user ids, ``channel``, ``here``, ``everyone``, groups."""
        return pings_of(self.text, self.blocks, self.attachments)

    def copy(self) -> "Message":
        """As it is now, for pressing a button of it later."""
        return attrs.evolve(self, edits=[], files=list(self.files))

    def seen_by(self, user: str) -> bool:
        return not self.deleted and self.only_to in (None, user)

    def as_json(self, *, metadata: bool) -> Json:
        """As the Web API gives it."""
        found: Json = {
            "type": "message",
            "user": self.user,
            "ts": self.ts,
            "text": self.text,
            "team": TEAM,
        }
        if self.user == BOT_USER:
            found |= {"bot_id": BOT, "app_id": APP}
        if self.blocks:
            found["blocks"] = self.blocks
        if self.attachments:
            found["attachments"] = self.attachments
        if self.thread is not None:
            found["thread_ts"] = self.thread
        if self.edits:
            found["edited"] = {"user": self.user, "ts": self.ts}
        if self.files:
            found["files"] = [{"id": f.id, "name": f.name, "title": f.title} for f in self.files]
        if metadata and self.metadata is not None:
            found["metadata"] = self.metadata
        return found


@attrs.define(eq=False)
class Channel:
    """A channel, or a talk between the bot and one person (``with_``)."""

    id: str
    name: str
    members: set[str]
    private: bool = False
    archived: bool = False
    with_: str | None = None
    messages: list[Message] = attrs.field(factory=list)

    def find(self, ts: str) -> Message | None:
        """A message that everybody sees."""
        return next(
            (m for m in self.messages if m.ts == ts and m.only_to is None and not m.deleted), None
        )

    def as_json(self) -> Json:
        """As ``conversations.info`` gives it."""
        return {
            "id": self.id,
            "name": self.name,
            "is_channel": self.with_ is None and not self.private,
            "is_group": self.private,
            "is_im": self.with_ is not None,
            "is_private": self.private,
            "is_archived": self.archived,
            "is_member": BOT_USER in self.members,
            **({"user": self.with_} if self.with_ is not None else {}),
        }


class World:
    """All of a workspace."""

    def __init__(self) -> None:
        self.people: dict[str, Person] = {}
        self.channels: dict[str, Channel] = {}
        self.files: dict[str, File] = {}
        #: Open modals, newest last.
        self.views: list[Json] = []
        #: Seconds since 1970.
        self.now: Callable[[], float] = time.time
        self._count = itertools.count(1)

    def number(self) -> int:
        """Never the same."""
        return next(self._count)

    def _id(self, kind: str, name: str) -> str:
        """Slack's kind of id, with so much of a name that a reader knows whose it is."""
        letters = "".join(c for c in name.upper() if c.isascii() and c.isalnum())
        return f"{kind}{self.number():04d}{letters[:6]:0<6}"

    def ts(self) -> str:
        """A time stamp of Slack's, later than all before."""
        return f"{self.now():.0f}.{self.number():06d}"

    def person(self, name: str, *, gone: bool = False) -> str:
        """Somebody of this name; returns the id."""
        found = self._id("U", name)
        self.people[found] = Person(found, name, f"{name}@lab.example", gone)
        return found

    def channel(self, name: str, *members: str, bot: bool = True, private: bool = False) -> str:
        """A channel of these members; returns the id. With no members: of everybody."""
        found = self._id("C", name)
        everybody = set(members or self.people)
        self.channels[found] = Channel(
            found, name, everybody | ({BOT_USER} if bot else set()), private
        )
        return found

    def talk_with(self, user: str) -> Channel:
        """The direct messages between the bot and somebody."""
        for channel in self.channels.values():
            if channel.with_ == user:
                return channel
        found = self._id("D", user)
        self.channels[found] = Channel(found, found, {user, BOT_USER}, with_=user)
        return self.channels[found]

    def add(self, message: Message) -> Message:
        """Put a message where it belongs, its blocks named as Slack names them."""
        for block in message.blocks:
            block.setdefault("block_id", f"b{self.number()}")
        self.channels[message.channel].messages.append(message)
        return message

    def messages(self) -> Iterator[Message]:
        """Of all channels, by time."""
        found = (m for c in self.channels.values() for m in c.messages)
        return iter(sorted(found, key=lambda m: m.ts))
