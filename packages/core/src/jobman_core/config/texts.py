"""What the keys of files are for, as the classes say that they are read into.

The text of a key is the ``#:`` comment above its field, in the core as in plugins.
"""

import ast
import functools
import inspect
import textwrap
from collections.abc import Mapping

_MARK = "#:"


@functools.cache
def texts_of(cls: type) -> Mapping[str, str]:
    """Give the text of each field of a class that has one, those of its bases included."""
    found: dict[str, str] = {}
    for each in reversed(cls.__mro__[:-1]):
        found |= _own_texts(each)
    return found


def summary_of(cls: type) -> str:
    """Give the first paragraph of a class's own docstring, without the name of its section."""
    text = _plain(inspect.cleandoc(cls.__dict__.get("__doc__") or "").partition("\n\n")[0])
    _, colon, said = text.partition("`: ") if text.startswith("`") else ("", "", "")
    return said[:1].upper() + said[1:] if colon else text


def _own_texts(cls: type) -> Mapping[str, str]:
    try:
        source = textwrap.dedent(inspect.getsource(cls))
    except (OSError, TypeError):
        # A class that was made as the program ran has no source, and needs none to be read into.
        return {}
    lines = source.splitlines()
    body = next(node.body for node in ast.parse(source).body if isinstance(node, ast.ClassDef))
    return {
        node.target.id: text
        for node in body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        if (text := _above(lines, node.lineno - 1))
    }


def _above(lines: list[str], index: int) -> str:
    """Give the comment that ends right above a line."""
    first = index
    while first and lines[first - 1].strip().startswith(_MARK):
        first -= 1
    return _plain(" ".join(line.strip().removeprefix(_MARK).strip() for line in lines[first:index]))


def _plain(text: str) -> str:
    """Write code as Markdown does."""
    return " ".join(text.split()).replace("``", "`")
