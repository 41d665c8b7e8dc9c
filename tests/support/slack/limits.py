"""What Slack refuses of a message or a modal, and in what words; pure.

The numbers are of docs.slack.dev (Block Kit reference). That about all of a message was found by
people who met it (slackapi/bolt-js issue 2509): some 13,200 characters, and some 125 for a block.
"""

import re
from collections.abc import Iterator
from typing import Any

from tests.support.slack.blockkit import IN_MESSAGES, IN_VIEWS, Check, plain, sized
from tests.support.slack.plain import cell_text

Json = dict[str, Any]
#: Bytes. Up to 40,000 characters are taken, but as several messages from here on, of which none can
#: be changed (seratch/ChatGPT-in-Slack issue 102, chainloop-dev/chainloop issue 272).
MESSAGE_TEXT = 4_000
MESSAGE_BLOCKS = 50
VIEW_BLOCKS = 100
MESSAGE_SIZE, BLOCK_SIZE = 13_200, 125
#: All cells of all tables of a message.
CELLS_TEXT = 10_000

#: What text is never made of: no person can read it, and some of it changes how the rest is read.
_UNREADABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def of_message(message: Json) -> tuple[str, list[str]] | None:
    """Slack's word for what is wrong with a message, and each fault; None if nothing is."""
    text, blocks = message.get("text") or "", message.get("blocks") or []
    attached = [b for a in message.get("attachments") or [] for b in a.get("blocks", [])]
    if not (text or blocks or message.get("attachments")):
        return "no_text", ["a message has text, blocks or attachments"]
    if len(text.encode()) > MESSAGE_TEXT:
        return "msg_too_long", [f"{len(text.encode())} bytes of text"]
    if unreadable := list(_unreadable((text, blocks, attached))):
        return "invalid_blocks", unreadable
    if metadata := message.get("metadata"):
        well = isinstance(metadata.get("event_type"), str) and metadata["event_type"]
        if not (well and isinstance(metadata.get("event_payload"), dict)):
            return "invalid_metadata_format", ["event_type is text, event_payload an object"]
    if size_of(blocks) > MESSAGE_SIZE:
        return "msg_blocks_too_long", [f"blocks of {size_of(blocks)} characters"]
    if faults := list(_blocks(blocks, MESSAGE_BLOCKS, IN_MESSAGES)):
        return "invalid_blocks", faults
    if faults := list(_blocks(attached, MESSAGE_BLOCKS, IN_MESSAGES)):
        return "invalid_attachments", faults
    return None


def of_view(view: Json) -> tuple[str, list[str]] | None:
    """The same for a modal."""
    faults = list(_blocks(view.get("blocks") or [], VIEW_BLOCKS, IN_VIEWS))
    for key in ("title", "submit", "close"):
        if key in view or key == "title":
            faults += plain(view.get(key), f"/view/{key}", 24)
    return ("invalid_arguments", faults) if faults else None


def size_of(blocks: list[Json]) -> int:
    """What Slack counts of blocks, as near as it is known."""
    return sum(map(len, _strings(blocks))) + BLOCK_SIZE * max(0, len(blocks) - 1)


def _strings(thing: object) -> Iterator[str]:
    if isinstance(thing, str):
        yield thing
    elif isinstance(thing, dict):
        for key, value in thing.items():
            if key != "type":
                yield from _strings(value)
    elif isinstance(thing, (list, tuple)):
        for value in thing:
            yield from _strings(value)


def _unreadable(things: object) -> Iterator[str]:
    for text in _strings(things):
        if found := _UNREADABLE.search(text):
            yield f"character {found[0]!r} in {text[:60]!r}"


def _blocks(blocks: list[Json], most: int, kinds: dict[str, Check]) -> Iterator[str]:
    if len(blocks) > most:
        yield f"no more than {most} items allowed [json-pointer:/blocks]"
    names = [b["block_id"] for b in blocks if "block_id" in b]
    if len(names) != len(set(names)):
        yield "`block_id` is not unique [json-pointer:/blocks]"
    tables = [b for b in blocks if b.get("type") == "table"]
    if len(tables) > 1:
        yield "only_one_table_allowed [json-pointer:/blocks]"
    if (
        sum(len(cell_text(c)) for t in tables for row in t.get("rows", []) for c in row)
        > CELLS_TEXT
    ):
        yield f"no more than {CELLS_TEXT} characters in all cells [json-pointer:/blocks]"
    for i, block in enumerate(blocks):
        at = f"/blocks/{i}"
        check = kinds.get(str(block.get("type")))
        if check is None:
            yield f"unsupported type: {block.get('type')} [json-pointer:{at}/type]"
        else:
            yield from sized(block.get("block_id", "b"), f"{at}/block_id", 255)
            yield from check(block, at)
