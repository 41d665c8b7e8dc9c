"""What people do: commands, buttons, modals, messages; and the answers to them."""

import time
import uuid
from typing import TYPE_CHECKING, Any

import attrs
from aiohttp import web
from tests.support.slack.table import change, checked
from tests.support.slack.trouble import ApiError
from tests.support.slack.world import APP, BOT_USER, TEAM, Message

if TYPE_CHECKING:
    from tests.support.slack.server import LoopbackSlack
    from tests.support.slack.sockets import Envelope

Json = dict[str, Any]


@attrs.define
class Hook:
    """A ``response_url``: where one interaction is answered."""

    channel: str
    user: str
    #: The message whose button was pressed.
    message: Message | None = None
    used: int = 0
    at: float = attrs.field(factory=time.monotonic)


class Hooks(dict[str, Hook]):
    """Those that were given out."""

    #: How often, and for how many seconds, each is good.
    uses, lasts = 5, 1800.0


def _hook(slack: "LoopbackSlack", hook: Hook) -> str:
    name = uuid.uuid4().hex
    slack.hooks[name] = hook
    return f"{slack.url}/hook/{name}"


def _common(slack: "LoopbackSlack", user: str, channel: str) -> Json:
    name = slack.world.people[user].name
    return {
        "api_app_id": APP,
        "token": "loopback",
        "team": {"id": TEAM, "domain": "loopback"},
        "user": {"id": user, "username": name, "name": name, "team_id": TEAM},
        "channel": {"id": channel, "name": slack.world.channels[channel].name},
        "trigger_id": slack.sockets.trigger(),
        "is_enterprise_install": False,
    }


async def command(slack: "LoopbackSlack", user: str, channel: str, text: str) -> "Envelope":
    """Type a slash command."""
    word, _, rest = text.partition(" ")
    where = slack.world.channels[channel]
    payload = {
        "token": "loopback",
        "team_id": TEAM,
        "team_domain": "loopback",
        "channel_id": channel,
        "channel_name": "directmessage" if where.with_ else where.name,
        "user_id": user,
        "user_name": slack.world.people[user].name,
        "command": word,
        "text": rest,
        "api_app_id": APP,
        "is_enterprise_install": "false",
        "response_url": _hook(slack, Hook(channel, user)),
        "trigger_id": slack.sockets.trigger(),
    }
    envelope = await slack.sockets.send("slash_commands", payload)
    if envelope.answer:
        answer(slack, payload["response_url"].rpartition("/")[2], envelope.answer)
    return envelope


async def press(
    slack: "LoopbackSlack",
    user: str,
    message: Message,
    action: str,
    *,
    option: str | None = None,
    confirmed: bool = True,
) -> "Envelope":
    """Press a button of a message as it is, or was when it was copied.

    Args:
        action: its action id, or the text on it.
        option: the value to choose in a menu.
        confirmed: what is answered where it asks first.
    """
    from tests.support.slack.sockets import Envelope

    found = [b for b in message.buttons if action in (b["action_id"], _text_of(b))]
    assert found, f"no {action!r} among {[_text_of(b) for b in message.buttons]}"
    button = found[0]
    if "confirm" in button and not confirmed:
        return Envelope("block_actions", {})
    acted: Json = {
        "type": button["type"],
        "action_id": button["action_id"],
        "block_id": button["block_id"],
        "action_ts": slack.world.ts(),
    }
    if button["type"] == "button":
        acted |= {"text": button["text"]} | {k: button[k] for k in ("value",) if k in button}
    else:
        acted["selected_option"] = next(o for o in button["options"] if o["value"] == option)
    secret = message.only_to is not None
    payload = {
        **_common(slack, user, message.channel),
        "type": "block_actions",
        "container": {
            "type": "message",
            "message_ts": message.ts,
            "channel_id": message.channel,
            "is_ephemeral": secret,
        },
        "actions": [acted],
        "state": {"values": {}},
        # Of what only one person sees, Slack gives no content.
        **({} if secret else {"message": message.as_json(metadata=True)}),
    }
    real = next((m for m in slack.world.messages() if m.ts == message.ts), None)
    payload["response_url"] = _hook(slack, Hook(message.channel, user, real))
    return await slack.sockets.send("interactive", payload)


def _text_of(button: Json) -> str | None:
    return button["text"]["text"] if "text" in button else None


async def submit(slack: "LoopbackSlack", user: str, view: Json, values: Json) -> "Envelope":
    """Send a modal off: values by the action ids of its inputs."""
    state: Json = {}
    for block in view["blocks"]:
        element = block.get("element", {})
        if element.get("action_id") in values:
            value = {"type": element["type"], "value": values[element["action_id"]]}
            state[block["block_id"]] = {element["action_id"]: value}
    common = _common(slack, user, slack.world.talk_with(user).id)
    del common["channel"]
    view = {**view, "state": {"values": state}}
    return await slack.sockets.send(
        "interactive", {**common, "type": "view_submission", "view": view}
    )


async def say(slack: "LoopbackSlack", user: str, channel: str, text: str) -> "Envelope":
    """Write a message; the bot hears of it where it is called, and in its direct messages."""
    message = slack.world.add(Message(channel, slack.world.ts(), user, text))
    called = BOT_USER in message.pings
    event = {
        "type": "app_mention" if called else "message",
        "user": user,
        "text": text,
        "ts": message.ts,
        "channel": channel,
        "event_ts": message.ts,
        **({} if called else {"channel_type": "im" if channel.startswith("D") else "channel"}),
    }
    return await slack.sockets.send(
        "events_api",
        {
            "token": "loopback",
            "team_id": TEAM,
            "api_app_id": APP,
            "type": "event_callback",
            "event_id": f"Ev{slack.world.number():08d}",
            "event_time": int(time.time()),
            "authorizations": [{"team_id": TEAM, "user_id": BOT_USER, "is_bot": True}],
            "event": event,
        },
    )


def answer(slack: "LoopbackSlack", name: str, content: Json) -> web.Response:
    """An app's answer to an interaction: a message of its own, or in place of the pressed one."""
    hook = slack.hooks.get(name)
    if hook is None or hook.used >= slack.hooks.uses:
        slack.violations.append("response_url: used up")
        return web.Response(status=404, text="used_url")
    if time.monotonic() - hook.at > slack.hooks.lasts:
        return web.Response(status=404, text="expired_url")
    hook.used += 1
    if content.get("delete_original") and hook.message is not None:
        hook.message.deleted = True
        return web.Response(text="ok")
    try:
        checked(slack, content)
    except ApiError as error:
        return web.Response(status=400, text=error.error)
    message = Message(
        hook.channel,
        slack.world.ts(),
        BOT_USER,
        content.get("text") or "",
        content.get("blocks") or [],
        content.get("attachments") or [],
        content.get("metadata"),
    )
    if content.get("replace_original") and hook.message is not None:
        change(hook.message, message)
        return web.Response(text="ok")
    if content.get("response_type") != "in_channel":
        message.only_to = hook.user
    slack.world.add(message)
    return web.Response(text="ok")
