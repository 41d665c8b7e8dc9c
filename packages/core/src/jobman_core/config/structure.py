"""Nodes to attrs classes by cattrs, with every error turned into a fault at its place."""

import enum
import functools
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import time
from pathlib import Path
from typing import Any, Final, TypeVar
from zoneinfo import ZoneInfo

import attrs
import cattrs
from cattrs.errors import (
    AttributeValidationNote,
    ClassValidationError,
    ForbiddenExtraKeysError,
    IterableValidationError,
    IterableValidationNote,
)
from cattrs.gen import make_dict_structure_fn

from jobman_core.config import sections, values
from jobman_core.config.faults import Faults, WrongValueError
from jobman_core.config.nodes import Map, Node, Path_, Scalar, Seq, is_null, to_data, what
from jobman_core.interfaces.backend import Count, Duration
from jobman_core.models.job import Loop
from jobman_core.models.notice import Audience, NotifyRule
from jobman_core.models.task import Workers

_T = TypeVar("_T")
#: All that can stand in an annotation.
_Hint = Any
_Reader = Callable[[Any], Any]


def structure(
    node: Node, cls: type[_T], path: Path_, faults: Faults, *, partial: bool = False
) -> _T | None:
    """Make an object of a class from a node; None, with faults noted, if it has any.

    Args:
        node: what to read.
        cls: an attrs class.
        path: where the node stands.
        faults: gets what is wrong.
        partial: missing keys are no fault (there is no object then, all the same).
    """
    try:
        return _converter().structure(node, cls)
    except (ClassValidationError, IterableValidationError, ValueError, TypeError) as error:
        for wrong in _explain(error, node, path):
            if wrong.choices is not None:
                faults.unknown(wrong.path, wrong.choices, place=wrong.place)
            elif not (wrong.missing and partial):
                faults.add(wrong.path, wrong.message, place=wrong.place)
                # One wrong value is told of once, however often it is read.
                faults.broken(wrong.path)
        return None


@attrs.frozen
class _Wrong:
    """One error of a group."""

    path: Path_
    message: str
    #: A key that must be there is not.
    missing: bool = False
    #: Where it is, if that is not the place of the value.
    place: tuple[int, int] | None = None
    #: Of a key that nobody knows: those that there are.
    choices: tuple[str, ...] | None = None


def _explain(error: BaseException, node: Node | None, path: Path_) -> Iterator[_Wrong]:
    """Take a group of errors apart."""
    if not isinstance(error, (ClassValidationError, IterableValidationError)):
        yield _Wrong(path, str(error.args[0]) if error.args else str(error))
        return
    for inner in error.exceptions:
        if isinstance(inner, ForbiddenExtraKeysError):
            names = tuple(a.name for a in attrs.fields(inner.cl))
            for key in inner.extra_fields:
                place = node.at.get(key) if isinstance(node, Map) else None
                yield _Wrong((*path, key), "", place=place, choices=names)
    for inner in error.exceptions:
        if not isinstance(inner, ForbiddenExtraKeysError):
            yield from _explain_one(inner, node, path)


def _explain_one(error: BaseException, node: Node | None, path: Path_) -> Iterator[_Wrong]:
    part = _part(error)
    child = None if part is None else _child(node, part)
    if part is None:
        yield from _explain(error, node, path)
    elif isinstance(error, KeyError) and (child is None or is_null(child)):
        yield _Wrong((*path, part), f"it is missing: write `{part}:` with its value", missing=True)
    else:
        yield from _explain(error, child, (*path, part))


def _part(error: BaseException) -> str | int | None:
    """Give the key or index that an error belongs to."""
    for note in getattr(error, "__notes__", ()):
        if isinstance(note, AttributeValidationNote):
            return str(note.name)
        if isinstance(note, IterableValidationNote):
            return note.index
    return None


def _child(node: Node | None, part: str | int) -> Node | None:
    if isinstance(node, Map) and isinstance(part, str):
        return node.get(part)
    if isinstance(node, Seq) and isinstance(part, int) and part < len(node):
        return node[part]
    return None


def _prefixes(node: object) -> tuple[sections.PrefixSection, ...]:
    if isinstance(node, Scalar):
        return (sections.PrefixSection(sections.Script(values.script(node))),)
    if not isinstance(node, Seq):
        raise WrongValueError(
            f"it must be a list of {{name, workers, required, run}}, not {what(node)}"
        )

    def read(item: object) -> sections.PrefixSection:
        if isinstance(item, Scalar):
            return sections.PrefixSection(sections.Script(values.script(item)))
        return _converter().structure(item, sections.PrefixSection)

    return tuple(values.each(enumerate(node), read))


def _notify(node: object) -> NotifyRule:
    if isinstance(node, Scalar):
        return NotifyRule(Audience(values.choice(node, list(Audience))))
    if not isinstance(node, Map):
        raise WrongValueError(f"it must be channel, owner, nobody or {{to, of}}, not {what(node)}")
    section = _converter().structure(node, sections.NotifySection)
    return NotifyRule(section.to, section.of)


def _reap_places(node: object) -> tuple[sections.ReapPlaceSection, ...]:
    if not isinstance(node, Seq):
        raise WrongValueError(f"it must be a list of zones, not {what(node)}")

    def read(item: object) -> sections.ReapPlaceSection:
        if isinstance(item, Scalar):
            return sections.ReapPlaceSection(sections.ZoneName(values.zone(item)))
        return _converter().structure(item, sections.ReapPlaceSection)

    return tuple(values.each(enumerate(node), read))


def _text(node: object, cls: Any) -> object:  # noqa: ANN401 - a class, with or without `parse`
    # What is text besides something else is a str to cattrs' dispatch as well.
    if issubclass(cls, enum.Enum):
        return _enum(node, cls)
    return cls.parse(values.line(node)) if hasattr(cls, "parse") else values.text(node)


def _price(section: type) -> _Reader:
    """Read an amount, or a section of amounts."""
    return lambda node: (
        _converter().structure(node, section) if isinstance(node, Map) else values.amount(node)
    )


def _enum(node: object, cls: type[enum.Enum]) -> enum.Enum:
    names = {str(member.value): member for member in cls}
    return names[values.choice(node, list(names))]


_SEQUENCES: Final[Mapping[Any, type]] = {
    list: list,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
    Sequence: tuple,
    typing.Sequence: tuple,
}


def _origin(hint: _Hint) -> _Hint:
    """Give ``list`` for ``list[int]``, and what has no such part as it is."""
    found: _Hint = typing.get_origin(hint)
    return hint if found is None else found


def is_sequence(hint: _Hint) -> bool:
    """Tell whether an annotation is that of a list of any length."""
    origin = _origin(hint)
    if not isinstance(origin, typing.Hashable) or origin not in _SEQUENCES:
        return False
    args = typing.get_args(hint)
    return origin is not tuple or not args or args[1:] == (Ellipsis,)


def _sequence(node: object, hint: _Hint) -> object:
    if not isinstance(node, Seq):
        raise WrongValueError(f"it must be a list (entries begin with `- `), not {what(node)}")
    item: Any = (*typing.get_args(hint), Any)[0]
    make = _SEQUENCES[_origin(hint)]
    return make(values.each(enumerate(node), lambda child: _converter().structure(child, item)))


def is_mapping(hint: _Hint) -> bool:
    """Tell whether an annotation is that of a map with any keys."""
    return (_origin(hint)) in (dict, Mapping)


def _mapping(node: object, hint: _Hint) -> object:
    if not isinstance(node, Map):
        raise WrongValueError(f"it must be a map, not {what(node)}")
    key, item = typing.get_args(hint) or (str, Any)
    read_key = functools.partial(_text, cls=key)
    # An empty value is empty text where there can only be text.
    read = values.value if item is str else functools.partial(_converter().structure, cl=item)
    pairs = ((name, (Scalar(name), child)) for name, child in node.items())
    return dict(values.each(pairs, lambda pair: (read_key(pair[0]), read(pair[1]))))


def _class_of(converter: cattrs.Converter, cls: type) -> Callable[[Any, Any], Any]:
    """Make the reader of an attrs class: keys without a value count as not written."""
    make: Any = make_dict_structure_fn(
        cls,
        converter,
        _cattrs_forbid_extra_keys=True,
        _cattrs_detailed_validation=True,
    )
    names = {attribute.name for attribute in attrs.fields(cls)}

    def read(node: object, hint: _Hint) -> object:
        if not isinstance(node, Map):
            raise WrongValueError(f"it must be a map of keys, not {what(node)}")
        empty = {key for key, child in node.items() if key in names and is_null(child)}
        return make(node.without(empty) if empty else node, hint)

    return read


#: How the values of each kind are read.
READERS: Final[Mapping[Any, _Reader]] = {
    bool: values.boolean,
    int: values.whole_number,
    float: values.fraction,
    Path: lambda node: Path(values.line(node)),
    sections.Line: values.line,
    sections.ZoneName: values.zone,
    sections.Script: values.script,
    sections.FilePath: values.line,
    sections.AcceleratorName: values.accelerator,
    sections.UserName: values.user,
    sections.Suffix: values.suffix,
    Count: lambda node: values.whole_number(node, least=0),
    sections.TimeZone: values.time_zone,
    ZoneInfo: lambda node: ZoneInfo(values.time_zone(node)),
    time: values.time_of_day,
    sections.Amount: values.amount,
    sections.Price: _price(sections.PriceSection),
    sections.PlacePrice: _price(sections.PlacePriceSection),
    sections.Day: values.day,
    sections.Currency: values.currency,
    sections.Positive: lambda node: values.whole_number(node, least=1),
    sections.TaskId: values.task_id,
    sections.TaskIds: values.task_ids,
    sections.GitName: values.git_name,
    sections.WorkFolder: lambda node: values.work_folder(values.line(node)),
    sections.Pattern: values.pattern,
    sections.Snapshot: values.snapshot,
    Duration: lambda node: values.seconds(values.text(node)),
    sections.Environment: values.environment,
    sections.Pairs: values.pairs,
    sections.Prefixes: _prefixes,
    sections.ReapPlaces: _reap_places,
    Workers: values.workers,
    NotifyRule: _notify,
    Loop: values.loop,
}


@functools.cache
def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(detailed_validation=True, forbid_extra_keys=True)
    converter.register_structure_hook_factory(attrs.has, lambda cls: _class_of(converter, cls))
    hooks: Sequence[tuple[Callable[[Any], bool], Callable[[Any, Any], Any]]] = (
        (lambda hint: hint is Any, lambda node, _: to_data(node)),
        (is_sequence, _sequence),
        (is_mapping, _mapping),
        (
            lambda hint: typing.get_origin(hint) is typing.Literal,
            lambda node, hint: values.choice(node, list(map(str, typing.get_args(hint)))),
        ),
    )
    for test, hook in hooks:
        converter.register_structure_hook_func(test, hook)
    for hint, read in READERS.items():
        converter.register_structure_hook(hint, _two(read))
    converter.register_structure_hook(enum.Enum, _enum)
    converter.register_structure_hook(str, _text)
    return converter


def _two(read: _Reader) -> Callable[[Any, Any], Any]:
    """Fit a reader to cattrs, which passes the type along."""
    return lambda node, _: read(node)
