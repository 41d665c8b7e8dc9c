"""The table of the Web API's methods, and what they share."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from tests.support.slack import limits
from tests.support.slack.trouble import ApiError
from tests.support.slack.world import BOT_USER, Channel, Message

if TYPE_CHECKING:
    from tests.support.slack.server import LoopbackSlack

Json = dict[str, Any]
Method = Callable[["LoopbackSlack", Json], Json]

#: A method's name -> the scopes of which one is needed, and what it does.
METHODS: Final[dict[str, tuple[tuple[str, ...], Method]]] = {}


def method(name: str, *scopes: str) -> Callable[[Method], Method]:
    """Enter it into the table."""

    def enter(does: Method) -> Method:
        METHODS[name] = (scopes, does)
        return does

    return enter


def change(message: Message, new: Message, *, keep_metadata: bool = False) -> None:
    """Put what is new in the place of a message, and keep the old as an edit."""
    message.edits.append(message.copy())
    message.text, message.blocks, message.attachments = new.text, new.blocks, new.attachments
    if not keep_metadata:
        message.metadata = new.metadata


def checked(slack: "LoopbackSlack", args: Json) -> None:
    """Refuse what Slack would refuse of a message's content, and remember it."""
    refuse(slack, limits.of_message(args))


def refuse(slack: "LoopbackSlack", found: tuple[str, list[str]] | None) -> None:
    """Answer with these faults, if there are any, and remember them."""
    if found is not None:
        error, faults = found
        slack.violations += [f"{error}: {fault}" for fault in faults]
        raise ApiError(
            error,
            errors=faults,
            response_metadata={"messages": [f"[ERROR] {fault}" for fault in faults]},
        )


def new_message(slack: "LoopbackSlack", args: Json, channel: Channel) -> Message:
    checked(slack, args)
    return Message(
        channel.id,
        slack.world.ts(),
        BOT_USER,
        str(args.get("text") or ""),
        list(args.get("blocks") or []),
        list(args.get("attachments") or []),
        args.get("metadata"),
    )


def knows(channel: Channel) -> bool:
    return BOT_USER in channel.members or not (channel.private or channel.with_)


def find_channel(slack: "LoopbackSlack", args: Json) -> Channel:
    name = str(args.get("channel", ""))
    found = slack.world.channels.get(name)
    if found is None or not knows(found):
        raise ApiError("channel_not_found")
    return found


def writable(slack: "LoopbackSlack", args: Json) -> Channel:
    user = slack.world.people.get(str(args.get("channel", "")))
    if user is not None:
        if user.gone:
            raise ApiError("user_disabled")
        return slack.world.talk_with(user.id)
    channel = readable(slack, args)
    if channel.archived:
        raise ApiError("is_archived")
    if channel.with_ is not None and slack.world.people[channel.with_].gone:
        raise ApiError("user_disabled")
    return channel


def readable(slack: "LoopbackSlack", args: Json) -> Channel:
    channel = find_channel(slack, args)
    if BOT_USER not in channel.members:
        raise ApiError("not_in_channel")
    return channel
