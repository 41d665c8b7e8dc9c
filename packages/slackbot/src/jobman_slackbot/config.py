"""``bot.yaml``: where the bot lives, what it does by itself, and who may do what."""

import os
import re
from collections.abc import Iterator, Mapping
from datetime import time
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Final, Self
from zoneinfo import ZoneInfo

import attrs

from jobman_core.app import Duration, read_config
from jobman_core.errors import InvalidInputError
from jobman_core.models.accelerator import Accelerator
from jobman_core.models.reap import KeptSlice

#: The lists of ``bot.yaml`` that give people more, or other, rights than ``people`` does.
_ROLES: Final = ("viewers", "operators", "admins")
#: Shorter ones would only use up what Slack and clouds answer in a minute.
_SHORTEST_ROUND: Final = 60.0
_LONGEST_SETTLE: Final = 300.0

#: What the texts of a kept slice may be, so that its cloud is not the first to say so, each day.
_SHAPES: Final = (
    ("name", re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?"), "small letters, digits and '-'"),
    ("zone", re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*"), "one like us-central1-b"),
    ("project", re.compile(r"[a-z0-9.:-]*"), "the id of a project"),
    ("pricing", re.compile(r"spot|preemptible|ondemand"), "spot, preemptible or ondemand"),
    ("mode", re.compile(r"queued-resources|tpu-vm"), "queued-resources or tpu-vm"),
)

_Complaint = tuple[tuple[str | int, ...], str]


class _Id(str):
    """What Slack calls something: a letter for its kind, then capitals and digits."""

    __slots__ = ()
    _shape: ClassVar[re.Pattern[str]]
    _hint: ClassVar[str]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read one.

        Raises:
            ValueError: it has another form.
        """
        if not cls._shape.fullmatch(text):
            msg = f"{text[:40]!r} is no id of {cls._hint}"
            raise ValueError(msg)
        return cls(text)


class PersonId(_Id):
    """A person's id in Slack."""

    __slots__ = ()
    _shape = re.compile(r"[UW][A-Z0-9]{2,20}")
    _hint = "a person: copy it from their profile in Slack (⋮, Copy member ID); it begins with U"


class ChannelId(_Id):
    """A channel's id in Slack."""

    __slots__ = ()
    _shape = re.compile(r"[CG][A-Z0-9]{2,20}")
    _hint = "a channel: copy it from below the channel's details in Slack; it begins with C"


class JobmanUser(str):
    """A user of jobman: what ``$USER`` is for who works at the command line."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read one.

        Raises:
            ValueError: no account of a machine is called so.
        """
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}", text):
            msg = f"{text[:40]!r} is no user of jobman: write what `jobman list` shows in USER"
            raise ValueError(msg)
        return cls(text)


class ReapMode(StrEnum):
    """What the bot's reaper does."""

    OFF = "off"
    #: It says what it would have done.
    DRY_RUN = "dry-run"
    #: What this home made is deleted.
    DELETE = "delete"
    #: What it did not make, too.
    ALL = "all"


@attrs.frozen
class DayRule:
    """When the day before is told."""

    at: time
    #: None: that of ``jobman.yaml``, else the machine's.
    zone: ZoneInfo | None = None


@attrs.frozen
class BotConfig:
    """What ``bot.yaml`` says."""

    #: Where notices and the day go.
    channel: ChannelId
    #: Who is who: ids of Slack, and the users of jobman that they are. They see all, and may do
    #: what they like with jobs of their own.
    people: Mapping[PersonId, JobmanUser]
    #: They see all, and do nothing.
    viewers: tuple[PersonId, ...] = ()
    #: They act on everybody's jobs, but delete none of others.
    operators: tuple[PersonId, ...] = ()
    #: They may do all.
    admins: tuple[PersonId, ...] = ()
    #: None: as for ``jobman``.
    home: Path | None = None
    #: Where commands are taken; by default in ``channel`` alone. Direct messages count always.
    channels: tuple[ChannelId, ...] = ()
    #: A 0600 file with SLACK_BOT_TOKEN and SLACK_APP_TOKEN; None: the environment has them.
    tokens: Path | None = None
    reap: ReapMode = ReapMode.DRY_RUN
    #: Seconds from one look of the reaper, and of who keeps slices, to the next.
    reap_every: Duration = Duration(600.0)
    #: None: the day is not told.
    day: DayRule | None = None
    #: Slices that are asked for again whenever they die.
    keep_alive: tuple[KeptSlice, ...] = ()
    #: Seconds for which a burst of notices is gathered.
    settle: Duration = Duration(5.0)

    @property
    def listens(self) -> tuple[ChannelId, ...]:
        """Where commands are taken, besides direct messages; ``channel`` is one of them."""
        return self.channels or (self.channel,)

    def hears(self, channel: str) -> bool:
        """Tell whether commands are taken in a channel, by its id; direct messages begin with D."""
        return channel.startswith("D") or channel in self.listens


def load_config(path: Path) -> BotConfig:
    """Read ``bot.yaml``; files and folders that it names are looked up from its own folder.

    Raises:
        ConfigError: it has faults; all of them.
        InvalidInputError: there is none.
    """
    if not path.exists():
        msg = f"there is no {path}: write it as docs/slack.md says, or name another with --config"
        raise InvalidInputError(msg)
    config = read_config(path, BotConfig, _complaints)
    folder = path.absolute().parent
    return attrs.evolve(
        config,
        home=config.home and folder / _expanded(config.home),
        tokens=config.tokens and folder / _expanded(config.tokens),
    )


def _expanded(path: Path) -> Path:
    return Path(os.path.expanduser(path))  # noqa: PTH111 - Path's own raises for unknown users


def _complaints(config: BotConfig) -> Iterator[_Complaint]:
    yield from _about_people(config)
    yield from _about_slices(config)
    if config.channels and config.channel not in config.channels:
        yield ("channels",), f"{config.channel} is the bot's own channel: name it here as well"
    if config.reap_every < _SHORTEST_ROUND:
        yield ("reap_every",), f"it must be {_SHORTEST_ROUND:g}s or more"
    if config.settle > _LONGEST_SETTLE:
        yield ("settle",), f"it may be {_LONGEST_SETTLE:g}s: news would come late"


def _about_people(config: BotConfig) -> Iterator[_Complaint]:
    users: dict[str, str] = {}
    for person, user in config.people.items():
        if user in users:
            told = f"{user} is {users[user]} already: a user is one person, who is told of its jobs"
            yield ("people", person), told
        users.setdefault(user, person)
    first: dict[str, str] = {}
    for role in _ROLES:
        for index, person in enumerate(getattr(config, role)):
            place = (role, index)
            if person in first:
                yield place, f"{person} is one of {first[person]} already: name everybody once"
            elif role == "viewers" and person in config.people:
                yield place, f"{person} is one of `people`, who do more than see: take it out"
            elif role != "viewers" and person not in config.people:
                yield place, f"{person} has no user of jobman: write `{person}: user` in `people:`"
            first.setdefault(person, role)


def _about_slices(config: BotConfig) -> Iterator[_Complaint]:
    names: set[str] = set()
    for index, kept in enumerate(config.keep_alive):
        if kept.name in names:
            yield ("keep_alive", index, "name"), f"there is a {kept.name!r} already: rename one"
        names.add(kept.name)
        for key, shape, like in _SHAPES:
            value = getattr(kept, key)
            if not shape.fullmatch(value):
                yield ("keep_alive", index, key), f"{value[:80]!r} cannot be it: write {like}"
        try:
            Accelerator.parse(kept.accelerator)
        except (InvalidInputError, ValueError) as error:
            yield ("keep_alive", index, "accelerator"), str(error)
