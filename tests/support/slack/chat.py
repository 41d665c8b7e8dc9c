"""Methods that write: messages and modals."""

from typing import TYPE_CHECKING, Any

from tests.support.slack import limits
from tests.support.slack.table import change, find_channel, method, new_message, refuse, writable
from tests.support.slack.trouble import ApiError
from tests.support.slack.world import BOT_USER, TEAM

if TYPE_CHECKING:
    from tests.support.slack.server import LoopbackSlack

Json = dict[str, Any]


@method("chat.postMessage", "chat:write")
def _post(slack: "LoopbackSlack", args: Json) -> Json:
    channel = writable(slack, args)
    wait = slack.rate.wait(channel.id)
    if wait:
        raise ApiError("ratelimited", retry_after=wait)
    message = new_message(slack, args, channel)
    message.thread = args.get("thread_ts")
    slack.world.add(message)
    return {"channel": channel.id, "ts": message.ts, "message": message.as_json(metadata=True)}


@method("chat.postEphemeral", "chat:write")
def _post_ephemeral(slack: "LoopbackSlack", args: Json) -> Json:
    channel = writable(slack, args)
    if args.get("user") not in channel.members:
        raise ApiError("user_not_in_channel")
    message = new_message(slack, args, channel)
    message.only_to, message.thread = args["user"], args.get("thread_ts")
    slack.world.add(message)
    return {"message_ts": message.ts}


@method("chat.update", "chat:write")
def _update(slack: "LoopbackSlack", args: Json) -> Json:
    channel = find_channel(slack, args)
    message = channel.find(str(args.get("ts")))
    if message is None:
        raise ApiError("message_not_found")
    if message.user != BOT_USER:
        raise ApiError("cant_update_message")
    change(message, new_message(slack, args, channel), keep_metadata="metadata" not in args)
    return {"channel": channel.id, "ts": message.ts, "text": message.text}


@method("chat.delete", "chat:write")
def _delete(slack: "LoopbackSlack", args: Json) -> Json:
    channel = find_channel(slack, args)
    message = channel.find(str(args.get("ts")))
    if message is None:
        raise ApiError("message_not_found")
    if message.user != BOT_USER:
        raise ApiError("cant_delete_message")
    message.deleted = True
    return {"channel": channel.id, "ts": message.ts}


@method("views.open")
def _view_open(slack: "LoopbackSlack", args: Json) -> Json:
    if not slack.sockets.spend(str(args.get("trigger_id"))):
        raise ApiError("invalid_trigger_id")
    view = {**args["view"], "id": f"V{slack.world.number():06d}", "team_id": TEAM}
    refuse(slack, limits.of_view(view))
    slack.world.views.append(view)
    return {"view": view}


@method("views.update")
def _view_update(slack: "LoopbackSlack", args: Json) -> Json:
    for i, old in enumerate(slack.world.views):
        if old["id"] == args.get("view_id"):
            view = {**args["view"], "id": old["id"], "team_id": TEAM}
            refuse(slack, limits.of_view(view))
            slack.world.views[i] = view
            return {"view": view}
    raise ApiError("not_found")
