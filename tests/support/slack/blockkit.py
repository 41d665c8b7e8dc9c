"""What each block of Block Kit may be made of: its faults, in Slack's words; pure."""

from collections.abc import Callable, Iterator
from typing import Any, Final

Json = dict[str, Any]
#: Faults of something, given where it stands.
Check = Callable[[Json, str], Iterator[str]]


def sized(text: object, at: str, most: int, least: int = 1) -> Iterator[str]:
    if not isinstance(text, str):
        yield f"must be a string [json-pointer:{at}]"
    elif len(text) > most:
        yield f"must be less than {most + 1} characters [json-pointer:{at}]"
    elif len(text) < least:
        yield f"must be more than {least - 1} characters [json-pointer:{at}]"


def _keys(thing: Json, at: str, needed: str, others: str = "") -> Iterator[str]:
    """Faults of a thing's keys, given as words."""
    yield from (
        f"missing required field: {k} [json-pointer:{at}]" for k in needed.split() if k not in thing
    )
    known = {"type", *needed.split(), *others.split()}
    yield from (
        f"invalid additional property: {k} [json-pointer:{at}]" for k in thing if k not in known
    )


def _items(things: object, at: str, most: int) -> Iterator[str]:
    if not isinstance(things, list) or not things:
        yield f"no less than 1 items allowed [json-pointer:{at}]"
    elif len(things) > most:
        yield f"no more than {most} items allowed [json-pointer:{at}]"


def _text(text: Any, at: str, most: int) -> Iterator[str]:
    if not isinstance(text, dict) or text.get("type") not in ("plain_text", "mrkdwn"):
        yield f"must provide a text object [json-pointer:{at}]"
        return
    yield from _keys(text, at, "text", "emoji" if text["type"] == "plain_text" else "verbatim")
    yield from sized(text.get("text"), f"{at}/text", most)


def plain(text: Any, at: str, most: int) -> Iterator[str]:
    yield from _text(text, at, most)
    if isinstance(text, dict) and text.get("type") == "mrkdwn":
        yield f"must be plain_text [json-pointer:{at}]"


def _section(block: Json, at: str) -> Iterator[str]:
    yield from _keys(block, at, "", "text fields accessory block_id expand")
    if "text" not in block and "fields" not in block:
        yield f"must define either `text` or `fields` [json-pointer:{at}]"
    if "text" in block:
        yield from _text(block["text"], f"{at}/text", 3000)
    if "fields" in block:
        yield from _items(block["fields"], f"{at}/fields", 10)
        for i, field in enumerate(block["fields"]):
            yield from _text(field, f"{at}/fields/{i}", 2000)
    if "accessory" in block:
        yield from _element(block["accessory"], f"{at}/accessory", {**_ELEMENTS, "image": _picture})


def _header(block: Json, at: str) -> Iterator[str]:
    yield from _keys(block, at, "text", "block_id")
    yield from plain(block.get("text"), f"{at}/text", 150)


def _divider(block: Json, at: str) -> Iterator[str]:
    yield from _keys(block, at, "", "block_id")


def _context(block: Json, at: str) -> Iterator[str]:
    yield from _keys(block, at, "elements", "block_id")
    yield from _items(block.get("elements"), f"{at}/elements", 10)
    for i, element in enumerate(block.get("elements", [])):
        if element.get("type") == "image":
            yield from _picture(element, f"{at}/elements/{i}")
        else:
            yield from _text(element, f"{at}/elements/{i}", 3000)


def _actions(block: Json, at: str) -> Iterator[str]:
    yield from _keys(block, at, "elements", "block_id")
    elements = block.get("elements", [])
    yield from _items(elements, f"{at}/elements", 25)
    ids = [e["action_id"] for e in elements if "action_id" in e]
    if len(ids) != len(set(ids)):
        yield f"`action_id` is not unique [json-pointer:{at}/elements]"
    for i, element in enumerate(elements):
        yield from _element(element, f"{at}/elements/{i}", _ELEMENTS)


def _picture(block: Json, at: str) -> Iterator[str]:
    yield from _keys(block, at, "alt_text", "image_url slack_file title block_id")
    if ("image_url" in block) == ("slack_file" in block):
        yield f"must define either `image_url` or `slack_file` [json-pointer:{at}]"
    yield from sized(block.get("alt_text", ""), f"{at}/alt_text", 2000)
    yield from sized(block.get("image_url", "h"), f"{at}/image_url", 3000)
    if "title" in block:
        yield from plain(block["title"], f"{at}/title", 2000)


def _markdown(block: Json, at: str) -> Iterator[str]:
    yield from _keys(block, at, "text", "block_id")
    yield from sized(block.get("text"), f"{at}/text", 12_000)


def _table(block: Json, at: str) -> Iterator[str]:
    yield from _keys(block, at, "rows", "block_id column_settings")
    rows = block.get("rows", [])
    yield from _items(rows, f"{at}/rows", 100)
    for i, row in enumerate(rows):
        yield from _items(row, f"{at}/rows/{i}", 20)
        for j, cell in enumerate(row):
            yield from _cell(cell, f"{at}/rows/{i}/{j}")
    if len({len(row) for row in rows}) > 1:
        yield f"rows have different numbers of cells [json-pointer:{at}/rows]"
    for i, setting in enumerate(block.get("column_settings", [])):
        yield from _keys(setting, f"{at}/column_settings/{i}", "", "align is_wrapped")
        if setting.get("align", "left") not in ("left", "center", "right"):
            yield f"must be left, center or right [json-pointer:{at}/column_settings/{i}/align]"
    if len(block.get("column_settings", [])) > 20:
        yield f"no more than 20 items allowed [json-pointer:{at}/column_settings]"


def _cell(cell: Json, at: str) -> Iterator[str]:
    if cell.get("type") == "rich_text":
        yield from _rich_text(cell, at)
    elif cell.get("type") == "raw_text":
        yield from _keys(cell, at, "text")
        yield from sized(cell.get("text"), f"{at}/text", 3000)
    else:
        yield f"unsupported type: {cell.get('type')} [json-pointer:{at}/type]"


def _rich_text(block: Json, at: str) -> Iterator[str]:
    yield from _keys(block, at, "elements", "block_id")
    for i, part in enumerate(block.get("elements", [])):
        inside = f"{at}/elements/{i}"
        kinds = ("rich_text_section", "rich_text_list", "rich_text_preformatted", "rich_text_quote")
        if part.get("type") not in kinds:
            yield f"unsupported type: {part.get('type')} [json-pointer:{inside}/type]"
            continue
        yield from _keys(part, inside, "elements", "style indent offset border")
        for j, leaf in enumerate(part.get("elements", [])):
            if leaf.get("type") == "text":
                yield from sized(leaf.get("text"), f"{inside}/elements/{j}/text", 12_000)


def _input(block: Json, at: str) -> Iterator[str]:
    yield from _keys(block, at, "label element", "block_id hint optional dispatch_action")
    yield from plain(block.get("label"), f"{at}/label", 2000)
    yield from _keys(
        block.get("element", {}),
        f"{at}/element",
        "",
        "action_id initial_value multiline placeholder options",
    )


def _element(element: Json, at: str, kinds: dict[str, Check]) -> Iterator[str]:
    check = kinds.get(str(element.get("type")))
    if check is None:
        yield f"unsupported type: {element.get('type')} [json-pointer:{at}/type]"
        return
    yield from sized(element.get("action_id", "a"), f"{at}/action_id", 255)
    yield from check(element, at)
    if "confirm" in element:
        yield from _confirm(element["confirm"], f"{at}/confirm")


def _button(element: Json, at: str) -> Iterator[str]:
    yield from _keys(element, at, "text", "action_id url value style confirm accessibility_label")
    yield from plain(element.get("text"), f"{at}/text", 75)
    yield from sized(element.get("value", ""), f"{at}/value", 2000, 0)
    yield from sized(element.get("url", ""), f"{at}/url", 3000, 0)
    yield from sized(element.get("accessibility_label", "a"), f"{at}/accessibility_label", 75)
    yield from _style(element, at)


def _style(thing: Json, at: str) -> Iterator[str]:
    if thing.get("style", "primary") not in ("primary", "danger"):
        yield f"must be primary or danger [json-pointer:{at}/style]"


def _confirm(thing: Json, at: str) -> Iterator[str]:
    yield from _keys(thing, at, "title text confirm deny", "style")
    yield from plain(thing.get("title"), f"{at}/title", 100)
    yield from _text(thing.get("text"), f"{at}/text", 300)
    yield from plain(thing.get("confirm"), f"{at}/confirm", 30)
    yield from plain(thing.get("deny"), f"{at}/deny", 30)
    yield from _style(thing, at)


def _menu(most: int) -> Check:
    def check(element: Json, at: str) -> Iterator[str]:
        yield from _keys(element, at, "options", "action_id placeholder initial_option confirm")
        yield from _items(element.get("options"), f"{at}/options", most)
        for i, option in enumerate(element.get("options", [])):
            yield from _text(option.get("text"), f"{at}/options/{i}/text", 75)
            yield from sized(option.get("value"), f"{at}/options/{i}/value", 150)
        if "placeholder" in element:
            yield from plain(element["placeholder"], f"{at}/placeholder", 150)

    return check


_ELEMENTS: Final[dict[str, Check]] = {
    "button": _button,
    "static_select": _menu(100),
    "overflow": _menu(5),
}
IN_MESSAGES: Final[dict[str, Check]] = {
    "section": _section,
    "header": _header,
    "divider": _divider,
    "context": _context,
    "actions": _actions,
    "image": _picture,
    "markdown": _markdown,
    "table": _table,
    "rich_text": _rich_text,
}
IN_VIEWS: Final[dict[str, Check]] = {
    **{k: v for k, v in IN_MESSAGES.items() if k not in ("markdown", "table")},
    "input": _input,
}
