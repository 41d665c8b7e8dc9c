"""What people read of blocks, as plain text; pure."""

import html
import re
from collections.abc import Iterable, Iterator
from typing import Any

Json = dict[str, Any]

_SPECIAL = re.compile(r"<([@#!])([^>|]*)(?:\|([^>]*))?>")
_LINK = re.compile(r"<([a-z]+:[^>|]+)(?:\|([^>]*))?>")


def plain_of(text: str, blocks: list[Json], attachments: list[Json], files: list[str]) -> str:
    """All that is read of a message; its text only where it has no blocks."""
    lines = [line for block in blocks for line in _lines(block)] if blocks else [shown(text)]
    for attachment in attachments:
        lines += [line for block in attachment.get("blocks", []) for line in _lines(block)]
        lines += [shown(attachment[k]) for k in ("pretext", "title", "text") if attachment.get(k)]
    lines += [f"({name})" for name in files]
    return "\n".join(line for line in lines if line)


def shown(mrkdwn: str) -> str:
    """Markup as a person reads it: links by their words, calls as ``@name``."""
    text = _SPECIAL.sub(_special, mrkdwn)
    text = _LINK.sub(lambda m: m[2] or m[1], text)
    return html.unescape(text)


def _special(found: re.Match[str]) -> str:
    name, _, _ = found[2].partition("^")
    if found[1] == "!" and name == "date":
        return found[3] or ""
    return "@#"[found[1] == "#"] + (found[3] or name)


def _lines(block: Json) -> Iterator[str]:
    kind = block.get("type")
    if kind == "divider":
        yield "---"
    elif kind == "table":
        yield from (" | ".join(cell_text(c) for c in row) for row in block["rows"])
    elif kind == "rich_text":
        yield rich_text(block)
    elif kind == "markdown":
        yield block["text"]
    elif kind == "image":
        yield f"({block.get('alt_text', '')})"
    elif kind in ("actions", "context"):
        yield " ".join(_element(e) for e in block["elements"])
    else:
        yield from (_text(t) for t in (block.get("text"), *block.get("fields", [])) if t)
        if "accessory" in block:
            yield _element(block["accessory"])


def _text(thing: Json) -> str:
    return shown(thing["text"]) if thing.get("type") == "mrkdwn" else str(thing["text"])


def _element(element: Json) -> str:
    kind = element.get("type")
    if kind in ("mrkdwn", "plain_text"):
        return _text(element)
    if kind == "image":
        return f"({element.get('alt_text', '')})"
    if kind == "button":
        return f"[{_text(element['text'])}]"
    return "[" + "/".join(_text(o["text"]) for o in element.get("options", [])) + "]"


def cell_text(cell: Json) -> str:
    """What stands in a cell of a table."""
    return rich_text(cell) if cell.get("type") == "rich_text" else str(cell.get("text", ""))


def rich_text(element: Json) -> str:
    """What is read of rich text, and of anything in it."""
    inner = element.get("elements")
    if inner is not None:
        between = "\n" if element.get("type") in ("rich_text", "rich_text_list") else ""
        return between.join(rich_text(e) for e in inner)
    kind = element.get("type")
    if kind == "user":
        return f"@{element['user_id']}"
    if kind == "broadcast":
        return f"@{element['range']}"
    return str(element.get("text") or element.get("url") or element.get("name") or "")


def buttons_of(blocks: Iterable[Json]) -> list[Json]:
    """What can be pressed or chosen, each with the id of its block."""
    return [
        {**element, "block_id": block.get("block_id")}
        for block in blocks
        for element in (*block.get("elements", ()), block.get("accessory"))
        if element and "action_id" in element
    ]


def pings_of(text: str, blocks: list[Json], attachments: list[Json]) -> set[str]:
    """Whom the markup of a message calls; in code too, for only escaping makes text of it."""
    found: set[str] = set()
    for mrkdwn in (text, *_markup([*blocks, *attachments])):
        for special in _SPECIAL.finditer(mrkdwn):
            name = special[2].partition("^")[0]
            # A time is shown in each reader's zone, and calls nobody.
            if special[1] != "#" and name != "date":
                found.add(name)
    return found | set(_rich_pings([*blocks, *attachments]))


def _markup(things: Iterable[Any]) -> Iterator[str]:
    for thing in _walk(things):
        if thing.get("type") in ("mrkdwn", "markdown") and isinstance(thing.get("text"), str):
            yield thing["text"]


def _rich_pings(things: Iterable[Any]) -> Iterator[str]:
    for thing in _walk(things):
        if thing.get("type") == "user":
            yield thing["user_id"]
        elif thing.get("type") == "broadcast":
            yield thing["range"]


def _walk(things: Iterable[Any]) -> Iterator[Json]:
    for thing in things:
        if isinstance(thing, dict):
            yield thing
            yield from _walk(thing.values())
        elif isinstance(thing, list):
            yield from _walk(thing)
