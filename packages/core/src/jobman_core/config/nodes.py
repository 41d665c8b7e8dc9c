"""A YAML file as plain data that remembers where everything stands.

Scalars keep their source text: what ``3.10`` or ``007`` is, a number or text, is decided by the
key that it is given to, so no number is ever mangled on its way to becoming text.
"""

import math
import re
from collections.abc import Collection, Iterator
from typing import Final

NULLS: Final = frozenset(("", "~", "null", "Null", "NULL"))
TRUE: Final = frozenset(("true", "yes", "on"))
FALSE: Final = frozenset(("false", "no", "off"))
_INT: Final = re.compile(r"[-+]?[0-9][0-9_]*")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?")
#: More digits than any setting needs; int() itself would refuse some thousands.
_DIGITS: Final = 18

#: Where something is: keys of maps and indices of lists.
Path_ = tuple[str | int, ...]


class Scalar:
    """One value: its text, and whether it was written without quotes."""

    __slots__ = ("block", "column", "end", "line", "null", "plain", "start", "text")

    def __init__(
        self,
        text: str,
        *,
        plain: bool = False,
        null: bool | None = None,
        block: str = "",
        place: tuple[int, int] = (0, 0),
        span: tuple[int, int] = (0, 0),
    ) -> None:
        """Keep it.

        Args:
            text: what it says.
            plain: it may be read as a number or a boolean.
            null: it stands for nothing; by default a plain one does by its text.
            block: ``|`` or ``>`` for the block styles.
            place: line and column, from 1.
            span: where its source text begins and ends, in characters of the file.
        """
        self.text = text
        self.plain = plain
        self.null = (plain and text in NULLS) if null is None else null
        self.block = block
        self.line, self.column = place
        self.start, self.end = span

    def moved(self, place: tuple[int, int], span: tuple[int, int]) -> "Scalar":
        """Give the same value as it stands somewhere else."""
        return Scalar(self.text, plain=self.plain, null=self.null, place=place, span=span)

    def replaced(self, value: "Scalar") -> "Scalar":
        """Give another value in this one's place."""
        return Scalar(
            value.text,
            plain=value.plain,
            null=value.null,
            block=self.block,
            place=(self.line, self.column),
            span=(self.start, self.end),
        )


class Seq(list["Node"]):
    """A list."""

    __slots__ = ("column", "line")

    def __init__(
        self, items: "list[Node] | tuple[Node, ...]" = (), line: int = 0, column: int = 0
    ) -> None:
        """Keep its items and where it begins."""
        super().__init__(items)
        self.line = line
        self.column = column


class Map(dict[str, "Node"]):
    """A map."""

    __slots__ = ("at", "column", "flow", "line", "span")

    def __init__(self, line: int = 0, column: int = 0, *, flow: bool = False) -> None:
        """Keep where it begins, and begin without keys."""
        super().__init__()
        self.line = line
        self.column = column
        self.flow = flow
        #: Line and column of each key.
        self.at: dict[str, tuple[int, int]] = {}
        #: Where the text of its first own key begins.
        self.span: int | None = None

    def without(self, drop: Collection[str]) -> "Map":
        """Give it without some keys."""
        fresh = Map(self.line, self.column, flow=self.flow)
        fresh.at = self.at
        fresh.span = self.span
        fresh.update((key, node) for key, node in self.items() if key not in drop)
        return fresh


Node = Scalar | Seq | Map


def is_null(node: object) -> bool:
    """Tell whether a node stands for nothing."""
    return isinstance(node, Scalar) and node.null


def what(node: object) -> str:
    """Name what a node is, for people."""
    if isinstance(node, Map):
        return "a map"
    if isinstance(node, Seq):
        return "a list"
    if isinstance(node, Scalar):
        return "nothing" if node.null else repr(short(node.text))
    return "something else"


def short(text: str, longest: int = 60) -> str:
    """Cut a text to what fits into a message."""
    return text if len(text) <= longest else f"{text[:longest]}…"


def as_bool(node: Scalar) -> bool | None:
    """Read a boolean, ``yes``, ``no``, ``on`` and ``off`` too; None: it is none."""
    word = node.text.lower() if node.plain else ""
    return True if word in TRUE else False if word in FALSE else None


def as_int(node: Scalar) -> int | None:
    """Read a whole number; None: it is none."""
    if not node.plain or len(node.text) > _DIGITS or not _INT.fullmatch(node.text):
        return None
    return int(node.text)


def as_float(node: Scalar) -> float | None:
    """Read a finite number; None: it is none."""
    if not node.plain or not _FLOAT.fullmatch(node.text):
        return None
    number = float(node.text)
    return number if math.isfinite(number) else None


def to_data(node: Node) -> object:
    """Give the plain data of a node, each scalar as YAML 1.2 reads it."""
    if isinstance(node, Map):
        return {key: to_data(child) for key, child in node.items()}
    if isinstance(node, Seq):
        return [to_data(child) for child in node]
    if node.null:
        return None
    if node.plain and node.text.lower() in ("true", "false"):
        return node.text.lower() == "true"
    number = as_int(node)
    if number is not None:
        return number
    fraction = as_float(node)
    return node.text if fraction is None else fraction


def scalars(node: Node, path: Path_ = ()) -> Iterator[tuple[Path_, Scalar]]:
    """Walk all scalars below a node."""
    if isinstance(node, Scalar):
        yield path, node
    elif isinstance(node, Map):
        for key, child in node.items():
            yield from scalars(child, (*path, key))
    else:
        for index, child in enumerate(node):
            yield from scalars(child, (*path, index))


def dotted(path: Path_) -> str:
    """Write a path as people do: ``accelerators.v4-8.tasks[2].id``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def undotted(text: str) -> Path_:
    """Read a path as :func:`dotted` writes it."""
    return tuple(
        int(index) if index else name for name, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", text)
    )


def locate(root: Node, path: Path_) -> tuple[int, int]:
    """Give line and column of a value; of what is not there, of the nearest thing around it.

    A value that is empty has its key's place.
    """
    node, place = root, (root.line, root.column)
    for part in path:
        child: Node | None = None
        if isinstance(node, Map) and isinstance(part, str):
            child = node.get(part)
            place = node.at.get(part, place)
        elif isinstance(node, Seq) and isinstance(part, int) and part < len(node):
            child = node[part]
        if child is None:
            return place
        node = child
        if isinstance(node, Map):
            # A map has no better place than the key that it belongs to.
            if isinstance(part, int):
                place = (node.line, node.column)
        elif not is_null(node):
            place = (node.line, node.column)
    return place
