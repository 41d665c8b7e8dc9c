"""Methods that look: who and what there is, and what was written."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tests.support.slack.table import find_channel, knows, method, readable
from tests.support.slack.trouble import ApiError
from tests.support.slack.world import APP, BOT, BOT_USER, TEAM, Message

if TYPE_CHECKING:
    from tests.support.slack.server import LoopbackSlack

Json = dict[str, Any]


_READ_INFO = ("channels:read", "groups:read", "im:read")
_READ_MESSAGES = ("channels:history", "groups:history", "im:history")


@method("auth.test")
def _auth_test(slack: "LoopbackSlack", args: Json) -> Json:
    return {
        "url": f"{slack.url}/",
        "team": "Loopback",
        "user": "jobman",
        "team_id": TEAM,
        "user_id": BOT_USER,
        "bot_id": BOT,
    }


@method("bots.info", "users:read")
def _bots_info(slack: "LoopbackSlack", args: Json) -> Json:
    return {"bot": {"id": BOT, "app_id": APP, "user_id": BOT_USER, "name": "jobman"}}


@method("apps.connections.open")
def _connections_open(slack: "LoopbackSlack", args: Json) -> Json:
    return {"url": slack.sockets.ticket(slack.url)}


@method("conversations.open", "im:write", "mpim:write")
def _open(slack: "LoopbackSlack", args: Json) -> Json:
    user = str(args.get("users", ""))
    if user not in slack.world.people:
        raise ApiError("user_not_found")
    if slack.world.people[user].gone:
        raise ApiError("user_disabled")
    return {"channel": {"id": slack.world.talk_with(user).id}}


@method("conversations.info", *_READ_INFO)
def _info(slack: "LoopbackSlack", args: Json) -> Json:
    return {"channel": find_channel(slack, args).as_json()}


@method("conversations.list", *_READ_INFO)
def _list(slack: "LoopbackSlack", args: Json) -> Json:
    found = [c.as_json() for c in slack.world.channels.values() if knows(c)]
    return {"channels": found, "response_metadata": {"next_cursor": ""}}


@method("conversations.members", *_READ_INFO)
def _members(slack: "LoopbackSlack", args: Json) -> Json:
    members = sorted(find_channel(slack, args).members)
    return {"members": members, "response_metadata": {"next_cursor": ""}}


@method("conversations.join", "channels:join")
def _join(slack: "LoopbackSlack", args: Json) -> Json:
    channel = find_channel(slack, args)
    channel.members.add(BOT_USER)
    return {"channel": channel.as_json()}


@method("conversations.history", *_READ_MESSAGES)
def _history(slack: "LoopbackSlack", args: Json) -> Json:
    channel = readable(slack, args)
    found = [m for m in channel.messages if m.thread in (None, m.ts)]
    return _page(found[::-1], args)


@method("conversations.replies", *_READ_MESSAGES)
def _replies(slack: "LoopbackSlack", args: Json) -> Json:
    channel, ts = readable(slack, args), args.get("ts")
    if channel.find(str(ts)) is None:
        raise ApiError("thread_not_found")
    return _page([m for m in channel.messages if ts in (m.ts, m.thread)], args)


@method("users.info", "users:read")
def _user(slack: "LoopbackSlack", args: Json) -> Json:
    return {"user": _person(slack, "id", args.get("user"))}


@method("users.lookupByEmail", "users:read.email")
def _user_by_email(slack: "LoopbackSlack", args: Json) -> Json:
    return {"user": _person(slack, "email", args.get("email"))}


def _person(slack: "LoopbackSlack", key: str, value: object) -> Json:
    if value == BOT_USER:
        return {"id": BOT_USER, "name": "jobman", "is_bot": True, "deleted": False}
    for person in slack.world.people.values():
        if getattr(person, key) == value:
            return {"id": person.id, "name": person.name, "deleted": person.gone, "is_bot": False}
    raise ApiError("user_not_found" if key == "id" else "users_not_found")


def _page(messages: list[Message], args: Json) -> Json:
    def within() -> Iterator[Message]:
        oldest, latest = float(args.get("oldest") or 0), float(args.get("latest") or "inf")
        inclusive = str(args.get("inclusive", "")).lower() in ("true", "1")
        for message in messages:
            ts = float(message.ts)
            inside = oldest <= ts <= latest if inclusive else oldest < ts < latest
            if inside and message.only_to is None and not message.deleted:
                yield message

    start, limit = int(args.get("cursor") or 0), min(int(args.get("limit") or 100), 999)
    found = list(within())
    metadata = str(args.get("include_all_metadata", "")).lower() in ("true", "1")
    more = start + limit < len(found)
    return {
        "messages": [m.as_json(metadata=metadata) for m in found[start : start + limit]],
        "has_more": more,
        "response_metadata": {"next_cursor": str(start + limit) if more else ""},
    }
