"""Methods for files: an address to upload to, the upload, and who sees it."""

from typing import TYPE_CHECKING, Any

import attrs
from tests.support.slack.table import method, writable
from tests.support.slack.trouble import ApiError
from tests.support.slack.world import BOT_USER, File, Message

if TYPE_CHECKING:
    from tests.support.slack.server import LoopbackSlack

Json = dict[str, Any]


@method("files.getUploadURLExternal", "files:write")
def _upload_url(slack: "LoopbackSlack", args: Json) -> Json:
    if not args.get("filename") or int(args.get("length", 0)) <= 0:
        raise ApiError("invalid_arguments")
    file = f"F{slack.world.number():06d}"
    slack.uploads[file] = args
    return {"file_id": file, "upload_url": f"{slack.url}/upload/{file}"}


@method("files.completeUploadExternal", "files:write")
def _upload_done(slack: "LoopbackSlack", args: Json) -> Json:
    wanted = [dict(f) for f in args.get("files") or []]
    if not wanted or any(f.get("id") not in slack.world.files for f in wanted):
        raise ApiError("file_not_found")
    for told in wanted:
        file = slack.world.files[told["id"]]
        slack.world.files[file.id] = attrs.evolve(file, title=told.get("title") or file.title)
    files = [slack.world.files[f["id"]] for f in wanted]
    if args.get("channel_id"):
        channel = writable(slack, {**args, "channel": args["channel_id"]})
        text = str(args.get("initial_comment") or "")
        ts, thread = slack.world.ts(), args.get("thread_ts")
        slack.world.add(Message(channel.id, ts, BOT_USER, text, thread=thread, files=files))
    return {"files": [{"id": f.id, "title": f.title} for f in files]}


@method("files.info", "files:read")
def _file_info(slack: "LoopbackSlack", args: Json) -> Json:
    file = slack.world.files.get(str(args.get("file")))
    if file is None:
        raise ApiError("file_not_found")
    shares: Json = {}
    for message in slack.world.messages():
        if file in message.files:
            shares.setdefault(message.channel, []).append({"ts": message.ts})
    found = {"id": file.id, "name": file.name, "title": file.title, "size": len(file.content)}
    return {"file": {**found, "shares": {"public": shares}}}


def new_file(slack: "LoopbackSlack", file: str, content: bytes) -> str | None:
    """Take an upload to the address that was given for it; returns what is wrong with it."""
    told = slack.uploads.pop(file, None)
    if told is None:
        return "no such upload"
    if int(told["length"]) != len(content):
        slack.violations.append(f"upload: {told['length']} bytes were told, {len(content)} came")
        return "length"
    slack.world.files[file] = File(
        file,
        told["filename"],
        told["filename"],
        content,
        told.get("snippet_type"),
        told.get("alt_txt") or told.get("alt_text"),
    )
    return None
