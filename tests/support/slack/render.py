"""A page, or a picture, of what people see: to look at messages with no Slack at hand.

``python -m tests.support.slack.render MESSAGE.json PAGE.html`` (or ``PICTURE.png``, where chromium
is installed) shows what ``chat.postMessage`` would be given, or a list of such.
"""

import base64
import html
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.support.slack.plain import cell_text, rich_text, shown
from tests.support.slack.world import BOT_USER, Message

Json = dict[str, Any]

STYLE = Path(__file__).with_name("page.css")

_MARKUP = (
    (re.compile(r"(?<!\w)\*([^*\n]+)\*(?!\w)"), r"<b>\1</b>"),
    (re.compile(r"(?<!\w)_([^_\n]+)_(?!\w)"), r"<i>\1</i>"),
    (re.compile(r"(?<!\w)~([^~\n]+)~(?!\w)"), r"<s>\1</s>"),
)
_CODE = re.compile(r"```(.*?)```|`([^`\n]+)`", re.DOTALL)
_ANGLE = re.compile(r"<([^>\n]+)>")


def page(messages: Iterable[Message], title: str = "") -> str:
    """The messages as a page of HTML."""
    body = "".join(_message(m) for m in messages)
    style = STYLE.read_text(encoding="utf-8")
    return f"<!doctype html><meta charset=utf-8><style>{style}</style><h2>{_safe(title)}</h2>{body}"


def save(path: Path, messages: Iterable[Message], title: str = "") -> Path:
    """Write a page, or for ``.png`` a picture of it; returns what could be written."""
    page_path = path.with_suffix(".html")
    page_path.write_text(page(messages, title), encoding="utf-8")
    chromium = shutil.which("chromium")
    if path.suffix != ".png" or chromium is None:
        return page_path
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--window-size=880,1600")
    subprocess.run(
        [chromium, *options, f"--screenshot={path}", page_path.as_uri()],
        check=True,
        capture_output=True,
        timeout=60,
    )
    return path


def _safe(text: str) -> str:
    return html.escape(text, quote=False)


def _message(message: Message) -> str:
    note = f"only visible to {message.only_to}" if message.only_to else ""
    thread = " in a thread" if message.thread else ""
    blocks = "".join(map(_block, message.blocks)) if message.blocks else mrkdwn(message.text)
    attached = "".join(_block(b) for a in message.attachments for b in a.get("blocks", []))
    files = "".join(_file(f.name, f.title, f.content) for f in message.files)
    edited = f" <span class=edited>(edited {len(message.edits)} times)</span>" * bool(message.edits)
    return (
        f"<div class='message{' secret' * bool(note)}'>"
        f"<span class=who>{'jobman' if message.user == BOT_USER else _safe(message.user)}</span>"
        f"<span class=when>{message.ts}{thread} {note}</span>{edited}"
        f"<div>{blocks}{attached}{files}</div></div>"
    )


def _file(name: str, title: str, content: bytes) -> str:
    if name.endswith(".png"):
        data = base64.b64encode(content).decode()
        return f"<div class=context>{_safe(title)}</div><img src='data:image/png;base64,{data}'>"
    text = content[:3000].decode(errors="replace")
    return f"<div class=context>{_safe(title)} ({len(content)} bytes)</div><pre>{_safe(text)}</pre>"


def _block(block: Json) -> str:
    kind = block["type"]
    if kind == "divider":
        return "<hr>"
    if kind == "header":
        return f"<div class=header>{_text(block['text'])}</div>"
    if kind == "table":
        rows = ("".join(f"<td>{_safe(cell_text(c))}</td>" for c in row) for row in block["rows"])
        return "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"
    if kind in ("context", "actions"):
        return f"<div class={kind}>{' '.join(map(_element, block['elements']))}</div>"
    if kind == "rich_text":
        return f"<pre>{_safe(rich_text(block))}</pre>"
    if kind == "section":
        fields = "".join(f"<div>{_text(f)}</div>" for f in block.get("fields", []))
        text = _text(block["text"]) if "text" in block else ""
        beside = _element(block["accessory"]) if "accessory" in block else ""
        return f"<div>{text} {beside}</div><div class=fields>{fields}</div>"
    return f"<pre>{_safe(str(block.get('text') or block.get('alt_text')))}</pre>"


def _element(element: Json) -> str:
    if element["type"] == "button":
        asks = ("confirm" in element) * " …"
        return (
            f"<button class={element.get('style', 'plain')}>{_text(element['text'])}{asks}</button>"
        )
    if "options" in element:
        return " ".join(f"<button>{_text(o['text'])}</button>" for o in element["options"])
    return _text(element)


def _text(text: Json) -> str:
    if text["type"] == "mrkdwn":
        return mrkdwn(text["text"])
    return _safe(str(text.get("text"))).replace("\n", "<br>")


def mrkdwn(text: str) -> str:
    """Slack's markup as HTML; what was not escaped shows as the call or link that it is."""
    found, end = "", 0
    for code in _CODE.finditer(text):
        found += _prose(text[end : code.start()])
        inner = _safe(html.unescape(code[1] or code[2]))
        found += f"<pre>{inner}</pre>" if code[1] else f"<code>{inner}</code>"
        end = code.end()
    return found + _prose(text[end:])


def _prose(text: str) -> str:
    found, end = "", 0
    for angle in _ANGLE.finditer(text):
        calls = angle[1][0] in "@#!" and not angle[1].startswith("!date^")
        kind = "call" if calls else "link"
        found += _plain(text[end : angle.start()])
        found += f"<span class={kind}>{_safe(shown(angle[0]))}</span>"
        end = angle.end()
    return found + _plain(text[end:])


def _plain(text: str) -> str:
    text = _safe(html.unescape(text))
    for pattern, to in _MARKUP:
        text = pattern.sub(to, text)
    return text.replace("\n", "<br>")


def main(source: str, target: str) -> None:
    """Show what stands in a file."""
    found = json.loads(Path(source).read_text(encoding="utf-8"))
    messages = [
        Message("C", str(n), BOT_USER, m.get("text", ""), m.get("blocks", []))
        for n, m in enumerate(found if isinstance(found, list) else [found])
    ]
    sys.stdout.write(f"{save(Path(target), messages)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
