"""YAML text to nodes: by ruamel's parser, hardened against all that a file can hold.

What is refused here: tags, directives, duplicate keys, keys that are not text, several documents,
deep nesting, aliases that refer to themselves or blow up. All of it becomes faults with a place.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import attrs
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from jobman_core.config.nodes import Map, Node, Path_, Scalar, Seq, as_float, dotted, short, what
from jobman_core.config.text import SMALL, decode, read_bytes, whole
from jobman_core.errors import ConfigError, Fault

#: ruamel says nothing of the types of its events.
_Event = Any

_DEEPEST: Final = 40
#: How much aliases may add to a file, in nodes (long texts count as several).
_EXPANSION: Final = 300_000
_TEXT_A_NODE: Final = 32
_ANCHOR: Final = re.compile(r"&\S+\s+")
_COLON: Final = re.compile(r"\s*:")
_MERGE: Final = "<<"
_BAD_TEXT: Final = re.compile("[\0\ud800-\udfff]")
#: What ruamel says, and what a person would.
_PLAINER: Final = (
    ("found character '\\t' that cannot start any token", "a tab cannot indent: use spaces"),
    ("found a tab", "a tab cannot indent: use spaces"),
)


@attrs.frozen
class Source:
    """A file as it stands."""

    path: str
    text: str
    root: Map
    #: What is wrong with the YAML itself, though it could be read on.
    faults: tuple[Fault, ...]


def read_source(path: Path, *, limit: int = SMALL) -> Source:
    """Read a YAML file whose top level is a map.

    Raises:
        ConfigError: it cannot be read, is no YAML, or no map; lesser faults are in the result.
    """
    return parse_source(decode(read_bytes(path, limit), path), path)


def parse_source(text: str, path: Path | str) -> Source:
    """Read YAML text whose top level is a map.

    Raises:
        ConfigError: it is no YAML, or no map; lesser faults are in the result.
    """
    builder = _Builder(str(path), text)
    root = builder.build()
    if root is None or (isinstance(root, Scalar) and root.null):
        raise whole(path, "the file is empty: write the keys that it should have")
    if not isinstance(root, Map):
        message = f"the file must be a map of keys, not {what(root)}: write `key: value` lines"
        builder.fault(root.line, root.column, message)
        raise ConfigError(builder.faults)
    return Source(str(path), text, root, tuple(builder.faults))


@attrs.define
class _Frame:
    """A list or map whose end has not come yet."""

    node: Seq | Map
    anchor: str | None
    key: str | None = None
    #: Where the text of the key ends.
    key_end: int = 0
    #: The key could not be used: its value is read and dropped.
    void: bool = False
    weight: int = 1
    merged: list[Map] = attrs.field(factory=list)


class _Builder:
    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.faults: list[Fault] = []
        self.root: Node | None = None
        self.frames: list[_Frame] = []
        #: None: begun, and not ended yet.
        self.anchors: dict[str, tuple[Node, int] | None] = {}
        self.added = 0
        self.documents = 0
        self.line = self.column = 1

    def build(self) -> Node | None:
        """Read the only document.

        Raises:
            ConfigError: at the first thing that makes the rest unreadable.
        """
        try:
            for event in self._events():
                self._take(event)
        except _StopError:
            raise ConfigError(self.faults) from None
        except MarkedYAMLError as error:
            self._syntax(error)
            raise ConfigError(self.faults) from error
        except YAMLError as error:
            self.fault(self.line, self.column, f"not valid YAML after here: {_one(error)}")
            raise ConfigError(self.faults) from error
        return self.root

    def fault(self, line: int, column: int, message: str, key: str | None = None) -> None:
        """Note a fault, by default under the key that is being read."""
        where = dotted(self._path()) if key is None else key
        self.faults.append(Fault(self.path, line, column, where, message))

    def _events(self) -> Iterator[Any]:
        yaml: Any = YAML(typ="safe", pure=True)
        events: Iterable[Any] = yaml.parse(self.text)
        try:
            yield from events
        except YAMLError:
            raise
        except Exception as error:
            # Its scanner lets errors of Python through for some malformed escapes and tags.
            raise YAMLError(f"{type(error).__name__}: {error}") from error

    def _stop(self, message: str) -> None:
        self.fault(self.line, self.column, message)
        raise _StopError

    def _syntax(self, error: MarkedYAMLError) -> None:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (self.line, self.column)
        text = " ".join(str(part) for part in (error.problem, error.context) if part)
        for theirs, ours in _PLAINER:
            if theirs in text:
                text = ours
        lines = self.text.splitlines()
        if line <= len(lines) and lines[line - 1][:column].strip(" ").startswith("\t"):
            text = "a tab cannot indent: use spaces"
        message = text if text.startswith("a tab") else f"not valid YAML: {_one(text)}"
        begun = error.context_mark
        if begun is not None and begun.line + 1 < line and not text.startswith("a tab"):
            message += f" (begun on line {begun.line + 1})"
        self.fault(line, column, message, key="")

    def _path(self) -> Path_:
        path: list[str | int] = []
        for frame in self.frames:
            if isinstance(frame.node, Seq):
                path.append(len(frame.node))
            elif frame.key is not None:
                path.append(frame.key)
        return tuple(path)

    def _take(self, event: _Event) -> None:
        kind = type(event)
        mark = event.start_mark
        if mark is not None:
            self.line, self.column = mark.line + 1, mark.column + 1
        if kind is ScalarEvent:
            self._scalar(event)
        elif kind is MappingStartEvent:
            self._open(Map(self.line, self.column, flow=bool(event.flow_style)), event)
        elif kind is SequenceStartEvent:
            self._open(Seq((), self.line, self.column), event)
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            self._close()
        elif kind is AliasEvent:
            self._alias(event)
        elif kind is DocumentStartEvent:
            self.documents += 1
            if self.documents > 1:
                self._stop("a second document begins here: only one is allowed, remove the `---`")
            if event.version or event.tags:
                self._stop("directives (%YAML, %TAG) are not used here: remove them")

    def _scalar(self, event: _Event) -> None:
        if event.ctag is not None:
            self._refuse_tag(event)
        text: str = event.value
        style: str | None = event.style
        start, end = event.start_mark.index, event.end_mark.index
        if event.anchor is not None:
            found = _ANCHOR.match(self.text, start, end)
            start = found.end() if found else start
        node = Scalar(
            text,
            plain=not style,
            block=style if style in ("|", ">") else "",
            place=(self.line, self.column),
            span=(start, end),
        )
        if style == '"' and _BAD_TEXT.search(text):
            self.fault(self.line, self.column, "a NUL or half a character has no place in a text")
            node = node.replaced(Scalar(_BAD_TEXT.sub("?", text)))
        if self._wants_key():
            self._key(node, event.anchor)
            return
        weight = 1 + len(text) // _TEXT_A_NODE
        if event.anchor is not None:
            self.anchors[event.anchor] = (node, weight)
        self._add(node, weight)

    def _wants_key(self) -> bool:
        if not self.frames:
            return False
        frame = self.frames[-1]
        return isinstance(frame.node, Map) and frame.key is None and not frame.void

    def _key(self, node: Scalar, anchor: str | None) -> None:
        frame = self.frames[-1]
        map_ = frame.node
        assert isinstance(map_, Map)  # noqa: S101 - _wants_key saw it; this is for the type checker
        key = node.text
        if anchor is not None:
            self.anchors[anchor] = (node, 1)
        if map_.span is None:
            map_.span = node.start
        if node.plain and (node.null or _is_value(node)):
            shown = f"{key!r}" if key else "an empty key"
            message = f"a key must be text, and {shown} is not: put it in quotes"
            self.fault(node.line, node.column, message)
            frame.void = True
            return
        first = map_.at.get(key)
        if first is not None:
            message = f"duplicate key {short(key)!r}: it stands on line {first[0]} already"
            self.fault(node.line, node.column, message, key=dotted((*self._path(), key)))
            frame.void = True
            return
        map_.at[key] = (node.line, node.column)
        if node.plain and key == _MERGE:
            map_[_MERGE] = node
        frame.key = key
        frame.key_end = node.end

    def _open(self, node: Seq | Map, event: _Event) -> None:
        if event.ctag is not None:
            self._refuse_tag(event)
        if self._wants_key():
            self._stop("a key must be text, not a list or a map: put it in quotes")
        if len(self.frames) >= _DEEPEST:
            self._stop(f"lists and maps nest deeper than {_DEEPEST} levels here: simplify")
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        self.frames.append(_Frame(node, event.anchor))

    def _close(self) -> None:
        frame = self.frames.pop()
        node = frame.node
        if isinstance(node, Map) and frame.merged:
            node = _merged(node, frame.merged)
        if frame.anchor is not None:
            self.anchors[frame.anchor] = (node, frame.weight)
        self._add(node, frame.weight)

    def _alias(self, event: _Event) -> None:
        name: str = event.anchor
        if name not in self.anchors:
            self._stop(f"alias *{short(name)} has no anchor &{short(name)} before it")
        found = self.anchors[name]
        if found is None:
            self._stop(f"alias *{short(name)} refers to what it is part of: write it out")
            return
        if self._wants_key():
            self._stop("an alias cannot be a key: write the key out")
        node, weight = found
        self.added += weight
        if self.added > _EXPANSION:
            self._stop("the aliases in this file blow it up beyond reason: write less with them")
        if isinstance(node, Scalar):
            span = (event.start_mark.index, event.end_mark.index)
            node = node.moved((self.line, self.column), span)
        self._add(node, weight)

    def _add(self, node: Node, weight: int) -> None:
        if not self.frames:
            self.root = node
            return
        frame = self.frames[-1]
        frame.weight += weight
        if isinstance(frame.node, Seq):
            frame.node.append(node)
        elif frame.void:
            frame.void = False
        elif frame.key is not None:
            if frame.key == _MERGE and _MERGE in frame.node:
                del frame.node[_MERGE]
                self._merge(frame, node)
            else:
                if isinstance(node, Scalar) and node.start == node.end:
                    self._place_empty(node, frame.key_end)
                frame.node[frame.key] = node
            frame.key = None

    def _place_empty(self, node: Scalar, key_end: int) -> None:
        """Put a value that is not there behind its colon; ruamel has it at what comes next."""
        colon = _COLON.match(self.text, key_end)
        if colon is not None:
            node.start = node.end = colon.end()

    def _merge(self, frame: _Frame, node: Node) -> None:
        maps = node if isinstance(node, Seq) else [node]
        for item in maps:
            if isinstance(item, Map):
                frame.merged.append(item)
            else:
                message = f"`<<` merges maps, not {what(item)}: give it an alias of a map"
                self.fault(item.line, item.column, message)

    def _refuse_tag(self, event: _Event) -> None:
        tag = short(_written(self.text, event.start_mark.index))
        self.fault(self.line, self.column, f"YAML tags are not used here: remove {tag}")


class _StopError(Exception):
    """The rest of the file is not worth reading."""


def _merged(own: Map, others: list[Map]) -> Map:
    """Give a map with what it takes over from others; its own keys beat theirs."""
    result = Map(own.line, own.column, flow=own.flow)
    result.span = own.span
    for other in reversed(others):
        result.update(other)
        result.at.update(other.at)
    result.update(own)
    result.at.update(own.at)
    return result


def _is_value(node: Scalar) -> bool:
    """Tell whether a plain key would be read as a number or a boolean."""
    return node.text.lower() in ("true", "false") or as_float(node) is not None


def _written(text: str, index: int) -> str:
    """Give the tag that stands at, or soon after, a place in the text."""
    found = re.compile(r"!\S*").search(text, index)
    return f"`{found[0]}`" if found else "the tag"


def _one(problem: object) -> str:
    """Give anything as one line."""
    return short(" ".join(str(problem).split()), 200)
