"""Who may do what: pure, by the ids of Slack. What is not allowed here is not allowed.

It is asked when a command comes, and again when a button is pressed.
"""

from enum import StrEnum
from typing import Final

import attrs

from jobman_slackbot.config import BotConfig


class Role(StrEnum):
    """What somebody is, as ``bot.yaml`` says."""

    VIEWER = "viewer"
    USER = "user"
    OPERATOR = "operator"
    ADMIN = "admin"


class Deed(StrEnum):
    """What can be done, as far as rights differ."""

    #: Lists, logs, reports.
    SEE = "see"
    #: Stop, resume, reboot, requeue; prioritize, reset and done for tasks.
    STEER = "steer"
    #: Give a slice back for good.
    DELETE = "delete"
    #: Delete what is dead at the cloud.
    REAP = "reap"


@attrs.frozen
class Person:
    """Somebody whom ``bot.yaml`` names."""

    #: Of Slack.
    id: str
    role: Role
    #: Of jobman; None: a viewer.
    user: str | None = None

    def may(self, deed: Deed, owner: str | None = None) -> bool:
        """Tell whether they may do something.

        Args:
            deed: what.
            owner: the jobman user whose it is; None: it is nobody's own, as a queue's tasks are.
        """
        if deed is Deed.SEE or self.role is Role.ADMIN:
            return True
        if self.role is Role.VIEWER or deed is Deed.REAP:
            return False
        return owner in (None, self.user) or self.for_all(deed)

    def for_all(self, deed: Deed) -> bool:
        """Tell whether they may do it to everybody's."""
        return self.role is Role.ADMIN or (self.role is Role.OPERATOR and deed is Deed.STEER)


#: What a role lacks, for those who are refused.
_LACK: Final = {
    Role.VIEWER: "you may see everything here",
    Role.USER: "you may change what is your own",
    Role.OPERATOR: "you may steer everybody's jobs, and delete your own",
}


def person(config: BotConfig, who: str) -> Person | None:
    """Look somebody up by the id of Slack; None: a stranger, who may do nothing."""
    user = next((user for known, user in config.people.items() if known == who), None)
    for people, role in (
        (config.admins, Role.ADMIN),
        (config.operators, Role.OPERATOR),
        (config.people, Role.USER),
    ):
        if who in people:
            return Person(who, role, user)
    return Person(who, Role.VIEWER) if who in config.viewers else None


def slack_id(config: BotConfig, user: str) -> str | None:
    """Give the id of Slack of a jobman user; None: nobody has said."""
    return next((known for known, name in config.people.items() if name == user), None)


def to_stranger(config: BotConfig, who: str) -> str:
    """Say to somebody who is not known how to be added, and nothing more (mrkdwn)."""
    admins = " or ".join(f"<@{admin}>" for admin in config.admins)
    ask = admins or "whoever runs this bot"
    return f"I do not know you yet. Ask {ask} to add your id to `bot.yaml`: `{who}`"


def wrong_place(config: BotConfig) -> str:
    """Say where commands are taken (mrkdwn)."""
    places = " and ".join(f"<#{channel}>" for channel in config.listens)
    return f"Commands are taken in {places}, and in direct messages to me."


def refusal(who: Person, deed: Deed, owner: str | None = None) -> str | None:
    """Say why somebody may not do something; None: they may."""
    if who.may(deed, owner):
        return None
    act = "change" if deed is Deed.STEER else deed
    what = "this" if owner is None else f"what is {owner}'s"
    said = act if deed is Deed.REAP else f"{act} {what}"
    return f"you may not {said}: {_LACK[who.role]}; ask an admin of this bot"
