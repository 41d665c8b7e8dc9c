"""The snapshot of a job file: the user's own text, with what was decided written into it.

Values are replaced where they stand, so that comments, order and style stay as they were.
"""

import re
from collections.abc import Mapping
from typing import Final

from jobman_core.config.faults import Faults
from jobman_core.config.interpolate import ENV, Interpolation, literal
from jobman_core.config.nodes import Map, Path_, Scalar, scalars
from jobman_core.config.source import Source

_ENV_TEXT: Final = "${" + ENV
_ENV_PIECE: Final = re.compile(r"\$\{(oc\.env:[^{}]*)\}")
#: What can stand without quotes and mean the same.
_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def snapshot_text(
    source: Source,
    values: Interpolation,
    decided: Mapping[Path_, str],
    added: Mapping[Path_, str],
    faults: Faults,
) -> str:
    """Give the text of a snapshot.

    Args:
        source: the job file.
        values: its interpolation.
        decided: values that are final, by path: names and files.
        added: keys of its sections that the file does not have, by path.
        faults: gets what cannot be recorded.
    """
    edits: dict[tuple[int, int], str] = {}
    for path, scalar in scalars(source.root):
        if path in decided:
            new = quote(literal(decided[path]))
        elif _ENV_TEXT in scalar.text:
            new = _pinned(source, values, path, scalar, faults)
        else:
            continue
        span = (scalar.start, scalar.end)
        if scalar.start == scalar.end:
            # An empty value begins right behind its colon.
            new = f" {new}"
        if scalar.block and not new.startswith(scalar.block):
            new += "\n"
        if edits.setdefault(span, new) != new:
            faults.add(path, "an alias ties it to a value that must differ: write both out")
    for path, value in added.items():
        section = source.root.get(str(path[0]))
        if isinstance(section, Map) and section.span is not None:
            at, after = _first_key(source, section, section.span)
            edits[at, at] = edits.get((at, at), "") + f"{path[-1]}: {quote(value)}{after}"
    text = source.text
    for (start, end), new in sorted(edits.items(), reverse=True):
        text = text[:start] + new + text[end:]
    return text


def quote(text: str) -> str:
    """Write any text as one double-quoted YAML scalar."""
    return '"' + "".join(map(_quoted, text)) + '"'


def _quoted(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code <= 0xFF:  # noqa: PLR2004 - as many digits as the escape has
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - the same


def _pinned(
    source: Source, values: Interpolation, path: Path_, scalar: Scalar, faults: Faults
) -> str:
    """Give a scalar's source text with the environment's values in the place of their names."""
    fresh = values.pin(path, scalar)
    if fresh is None:
        # Its fault is noted already.
        return source.text[scalar.start : scalar.end]
    again = values.expand(path, fresh.text)
    final = values.value(path, scalar)
    if final is None or again != final.text:
        faults.add(
            path,
            # The value itself may be a secret.
            "what the environment gives holds something like ${…}, which would be read as "
            "interpolation later: write the value into the file",
        )
    if fresh.null:
        return "null"
    if fresh.plain and _PLAIN.fullmatch(fresh.text) and not Scalar(fresh.text, plain=True).null:
        return fresh.text
    if scalar.block == "|":
        written = source.text[scalar.start : scalar.end]
        inside = _in_place(written, values)
        if inside is not None:
            return inside
    return quote(fresh.text)


def _in_place(written: str, values: Interpolation) -> str | None:
    """Put values into a literal block; None: one of them would change the block's shape."""
    pieces: list[str] = []
    last = 0
    for found in _ENV_PIECE.finditer(written):
        value = values.environment(found[1]).text
        if not value.isprintable() or not value.strip() or value != value.strip():
            return None
        pieces += written[last : found.start()], value
        last = found.end()
    return "".join([*pieces, written[last:]])


def _first_key(source: Source, section: Map, at: int) -> tuple[int, str]:
    """Give where a key can be put before the first one of a section, and what must follow it."""
    if section.flow:
        return at, ", "
    start = source.text.rfind("\n", 0, at) + 1
    # Where the line's text begins: before the `?` that a key may be written with.
    at = start + len(source.text[start:at]) - len(source.text[start:at].lstrip(" "))
    return at, "\n" + " " * (at - start)
