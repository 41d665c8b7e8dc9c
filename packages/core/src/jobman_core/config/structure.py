"""Nodes to attrs classes by cattrs, with every error turned into a fault at its place."""

import difflib
import enum
import functools
import math
import re
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

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

from jobman_core.config.nodes import (
    Map,
    Node,
    Path_,
    Scalar,
    Seq,
    as_bool,
    as_float,
    as_int,
    dotted,
    is_null,
    locate,
    short,
    to_data,
    what,
)
from jobman_core.config.sections import (
    AcceleratorName,
    Count,
    Duration,
    Environment,
    FilePath,
    GitName,
    Line,
    Pairs,
    Positive,
    Prefixes,
    PrefixSection,
    Script,
    Suffix,
    TaskId,
    TaskIds,
    UserName,
    WorkFolder,
)
from jobman_core.errors import ConfigError, Fault
from jobman_core.models.accelerator import Accelerator
from jobman_core.models.job import Loop
from jobman_core.models.task import Workers

_T = TypeVar("_T")

_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([smhd]?)")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_USER: Final = re.compile(r"[a-z_][a-z0-9_-]*")
_SUFFIX: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,30}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: What a program is told by jobman itself.
_RESERVED: Final = "JOBMAN_"
#: How alike two words must be for one to be a misspelling of the other.
_NEAR: Final = 0.7
_LISTED: Final = 12
_LONGEST_ID: Final = 200


class Faults:
    """Collects what is wrong with a file, each fault at the place of its key."""

    def __init__(self, path: str, root: Map, known: Iterable[Fault] = ()) -> None:
        """Begin, with those that are known already."""
        self._path = path
        self._root = root
        self._faults = list(known)
        self._broken: set[Path_] = set()

    def __bool__(self) -> bool:
        """Tell whether there are any."""
        return bool(self._faults)

    def add(self, path: Path_, message: str, *, place: tuple[int, int] | None = None) -> None:
        """Note one; what stands under a key that is known to be broken is passed over."""
        if any(path[:n] in self._broken for n in range(1, len(path) + 1)):
            return
        line, column = place or locate(self._root, path)
        self._faults.append(Fault(self._path, line, column, dotted(path), message))

    def broken(self, path: Path_) -> None:
        """Say that a key's value cannot be judged any more."""
        self._broken.add(path)

    def is_broken(self, path: Path_) -> bool:
        """Tell whether a key's value cannot be judged."""
        return path in self._broken

    def check(self) -> None:
        """Raise ConfigError with all of them, if there are any."""
        if self._faults:
            raise ConfigError(self._faults)


def meant(word: str, choices: Iterable[str]) -> str:
    """Give the hint that follows a wrong word: the nearest right one, else all of them."""
    names = list(choices)
    near = difflib.get_close_matches(word, names, 1, _NEAR)
    if near:
        return f" (did you mean {near[0]!r}?)"
    if names and len(names) <= _LISTED:
        return f": use one of {', '.join(names)}"
    return ": take it out" if not names else ": check its spelling"


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
        return typing.cast("_T", _converter().structure(node, cls))
    except (ClassValidationError, IterableValidationError, ValueError, TypeError) as error:
        for wrong in _explain(error, node, path):
            if not (wrong.missing and partial):
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


def _explain(error: BaseException, node: Node | None, path: Path_) -> Iterator[_Wrong]:
    """Take a group of errors apart."""
    if not isinstance(error, (ClassValidationError, IterableValidationError)):
        yield _Wrong(path, str(error.args[0]) if error.args else str(error))
        return
    hints: dict[str, str] = {}
    for inner in error.exceptions:
        if isinstance(inner, ForbiddenExtraKeysError):
            names = [a.name for a in attrs.fields(inner.cl)]
            hints = {key: meant(key, names) for key in inner.extra_fields}
    for key, hint in hints.items():
        place = node.at.get(key) if isinstance(node, Map) else None
        yield _Wrong((*path, key), f"unknown key {short(key)!r}{hint}", place=place)
    for inner in error.exceptions:
        if not isinstance(inner, ForbiddenExtraKeysError):
            yield from _explain_one(inner, node, path, hints.values())


def _explain_one(
    error: BaseException, node: Node | None, path: Path_, hints: Collection[str]
) -> Iterator[_Wrong]:
    part = _part(error)
    if part is None:
        yield from _explain(error, node, path)
        return
    child = _child(node, part)
    if not isinstance(error, KeyError) or not (child is None or is_null(child)):
        yield from _explain(error, child, (*path, part))
    elif not any(f"{part!r}?" in hint for hint in hints):
        # A key that is only misspelt is not missing as well.
        yield _Wrong((*path, part), f"it is missing: write `{part}:` with its value", missing=True)


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


def _each(items: Iterable[tuple[str | int, Any]], read: Callable[[Any], _T]) -> list[_T]:
    """Read all items, and raise their errors together."""
    results: list[_T] = []
    errors: list[Exception] = []
    for index, item in items:
        try:
            results.append(read(item))
        except Exception as error:  # noqa: BLE001 - whatever a plugin's converter raises
            error.add_note(IterableValidationNote("", index, Any))
            errors.append(error)
    if errors:
        raise IterableValidationError("", errors, list)
    return results


def text(node: Any) -> str:
    """Read a scalar as text, as it was written."""
    if not isinstance(node, Scalar):
        raise ValueError(f"it must be text, not {what(node)}")
    if node.null:
        raise ValueError("it has no value: write one")
    return node.text


def line(node: Any) -> str:
    """Read one line of text that is not empty."""
    value = text(node)
    if not value.strip():
        raise ValueError("it is empty: write a value")
    if _CONTROL.search(value):
        raise ValueError(f"it must be one line of plain text, not {short(value)!r}")
    return value


def _script(node: Any) -> str:
    value = text(node)
    if not value.strip():
        raise ValueError("the script is empty: write what to run, or take the key out")
    return value


def whole_number(node: Any, *, least: int | None = None) -> int:
    """Read a whole number."""
    number = as_int(node) if isinstance(node, Scalar) else None
    if number is None:
        raise ValueError(f"it must be a whole number, not {what(node)}")
    if least is not None and number < least:
        raise ValueError(f"it must be {least} or more, not {number}")
    return number


def _fraction(node: Any) -> float:
    number = as_float(node) if isinstance(node, Scalar) else None
    if number is None:
        raise ValueError(f"it must be a number, not {what(node)}")
    return number


def boolean(node: Any) -> bool:
    """Read a boolean; ``yes``, ``no``, ``on`` and ``off`` are some, as in YAML 1.1."""
    value = as_bool(node) if isinstance(node, Scalar) else None
    if value is None:
        raise ValueError(f"it must be true or false, not {what(node)}")
    return value


def seconds(value: str) -> float:
    """Read a duration: a number of seconds, or ``90s``, ``10m``, ``2h``, ``1d``.

    Raises:
        ValueError: it is none.
    """
    found = _DURATION.fullmatch(value.strip())
    number = float(found[1]) * _UNITS[found[2]] if found else math.inf
    if not math.isfinite(number):
        raise ValueError(
            f"{short(value)!r} is no duration: write seconds, or something like 90s, 10m, 2h, 1d"
        )
    return number


def check_hosts(node: Node, path: Path_, hosts: int, faults: Faults) -> None:
    """Refuse hosts that a slice does not have, at their places in a value of ``workers``."""
    items = enumerate(node) if isinstance(node, Seq) else [(None, node)]
    for at, item in items:
        index = as_int(item) if isinstance(item, Scalar) else None
        if index is not None and index >= hosts:
            have = "only host 0" if hosts == 1 else f"hosts 0 to {hosts - 1}"
            message = f"there is no host {index}: the slice has {have}"
            faults.add(path if at is None else (*path, at), message)


def workers(node: Any) -> Workers:
    """Read which hosts something runs on: an index, a list of them, or ``all``."""
    if isinstance(node, Scalar):
        if node.text == "all":
            return Workers("all")
        return Workers((_host(node),))
    if not isinstance(node, Seq) or not node:
        raise ValueError(f'it must be a host\'s index, a list of them, or "all", not {what(node)}')
    indices = _each(enumerate(node), _host)
    double = {index for index in indices if indices.count(index) > 1} if len(indices) > 1 else ()
    if double:
        raise ValueError(f"host {min(double)} is named twice: name each once")
    return Workers(tuple(indices))


def _host(node: Any) -> int:
    number = as_int(node) if isinstance(node, Scalar) else None
    if number is None or number < 0:
        raise ValueError(f'a host is an index from 0 on, or "all", not {what(node)}')
    return number


def _loop(node: Any) -> Loop:
    if isinstance(node, Scalar):
        value = as_bool(node)
        if value is not None:
            return Loop.RECOVER if value else Loop.NEVER
        if node.text == Loop.ALWAYS:
            return Loop.ALWAYS
    raise ValueError(f"it must be true, false or always, not {what(node)}")


def _user(node: Any) -> str:
    name = line(node)
    if not _USER.fullmatch(name):
        raise ValueError(f"{short(name)!r} is no user name: use small letters, digits, - and _")
    return name


def _suffix(node: Any) -> str:
    word = line(node)
    if not _SUFFIX.fullmatch(word):
        raise ValueError(f"{short(word)!r} cannot end a name: write auto, a number or one word")
    return word


def _accelerator(node: Any) -> str:
    return Accelerator.parse(line(node)).name


def _task_id(node: Any) -> str:
    name = line(node)
    if len(name) > _LONGEST_ID:
        raise ValueError(f"it has {len(name)} characters, and an id may have {_LONGEST_ID}")
    return name


def _task_ids(node: Any) -> tuple[str, ...]:
    return tuple(_each(enumerate(node), _task_id)) if isinstance(node, Seq) else (_task_id(node),)


def _git_name(node: Any) -> str:
    name = line(node)
    if name.startswith("-"):
        raise ValueError(f"{short(name)!r} begins with a dash, which git takes for an option")
    return name


def work_folder(name: str) -> str:
    """Read a folder below the home folder of a host.

    Raises:
        ValueError: it would be the home folder itself, or lie outside of it.
    """
    plain = name.rstrip("/")
    parts = plain.split("/")
    if name.startswith(("/", "~", ".jobman")) or not {"", ".", ".."}.isdisjoint(parts):
        raise ValueError(
            f"{short(name)!r} is no folder for code: write a plain relative path, like my-repo, "
            "that does not begin with .jobman"
        )
    return plain


def _value(node: Any) -> str:
    """Read the value of a variable: any scalar, as it was written; nothing is empty text."""
    return "" if is_null(node) else text(node)


def _environment(node: Any) -> dict[str, str]:
    if not isinstance(node, Map):
        raise ValueError(f"it must be a map of names and values, not {what(node)}")

    def read(name: str) -> tuple[str, str]:
        if not _VARIABLE.fullmatch(name):
            raise ValueError(
                f"{short(name)!r} is no name of a shell variable: use letters, digits and _"
            )
        if name.startswith(_RESERVED):
            raise ValueError(f"{name!r} is jobman's own: names beginning with {_RESERVED} are taken")
        return name, _value(node[name])

    return dict(_each(((name, name) for name in node), read))


def _pairs(node: Any) -> dict[str, str]:
    if isinstance(node, Map):
        names = _each(((name, name) for name in node), lambda name: (name, _value(node[name])))
        return dict(names)
    if not isinstance(node, Seq):
        raise ValueError(f"it must be a map, or a list of KEY=VALUE, not {what(node)}")

    def read(item: Any) -> tuple[str, str]:
        name, sign, value = text(item).partition("=")
        if not name or not sign:
            raise ValueError(f"it must be KEY=VALUE, not {what(item)}")
        return name, value

    return dict(_each(enumerate(node), read))


def _prefixes(node: Any) -> tuple[PrefixSection, ...]:
    if isinstance(node, Scalar):
        return (PrefixSection(Script(_script(node))),)
    if not isinstance(node, Seq):
        raise ValueError(f"it must be a list of {{name, workers, required, run}}, not {what(node)}")

    def read(item: Any) -> PrefixSection:
        if isinstance(item, Scalar):
            return PrefixSection(Script(_script(item)))
        return typing.cast("PrefixSection", _converter().structure(item, PrefixSection))

    return tuple(_each(enumerate(node), read))


def choice(node: Any, choices: Sequence[str]) -> str:
    """Read one of some words."""
    word = text(node)
    if word not in choices:
        raise ValueError(f"{short(word)!r} is not possible{meant(word, choices)}")
    return word


def _text_or_enum(node: Any, cls: Any) -> Any:
    # A StrEnum is a str to cattrs' dispatch as well.
    return _enum(node, cls) if issubclass(cls, enum.Enum) else text(node)


def _enum(node: Any, cls: type[enum.Enum]) -> enum.Enum:
    names = {str(member.value): member for member in cls}
    return names[choice(node, list(names))]


_SEQUENCES: Final[Mapping[Any, type]] = {
    list: list,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
    Sequence: tuple,
    typing.Sequence: tuple,
}


def _is_sequence(hint: Any) -> bool:
    origin = typing.get_origin(hint) or hint
    if not isinstance(origin, typing.Hashable) or origin not in _SEQUENCES:
        return False
    args = typing.get_args(hint)
    return origin is not tuple or not args or args[1:] == (Ellipsis,)


def _sequence(node: Any, hint: Any) -> Any:
    if not isinstance(node, Seq):
        raise ValueError(f"it must be a list (entries begin with `- `), not {what(node)}")
    item: Any = (*typing.get_args(hint), Any)[0]
    make = _SEQUENCES[typing.get_origin(hint) or hint]
    return make(_each(enumerate(node), lambda child: _converter().structure(child, item)))


def _is_mapping(hint: Any) -> bool:
    return (typing.get_origin(hint) or hint) in (dict, Mapping)


def _mapping(node: Any, hint: Any) -> Any:
    if not isinstance(node, Map):
        raise ValueError(f"it must be a map, not {what(node)}")
    item: Any = (*typing.get_args(hint)[1:], Any)[0]
    # An empty value is empty text where there can only be text.
    read = _value if item is str else functools.partial(_converter().structure, cl=item)
    return dict(zip(node, _each(node.items(), read), strict=True))


def _class_of(converter: cattrs.Converter, cls: type) -> Callable[[Any, Any], Any]:
    """Make the reader of an attrs class: keys without a value count as not written."""
    make: Any = make_dict_structure_fn(
        cls,
        converter,
        _cattrs_forbid_extra_keys=True,
        _cattrs_detailed_validation=True,
    )
    names = {attribute.name for attribute in attrs.fields(cls)}

    def read(node: Any, hint: Any) -> Any:
        if not isinstance(node, Map):
            raise ValueError(f"it must be a map of keys, not {what(node)}")
        empty = {key for key, child in node.items() if key in names and is_null(child)}
        return make(node.without(empty) if empty else node, hint)

    return read


@functools.cache
def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(detailed_validation=True, forbid_extra_keys=True)
    converter.register_structure_hook_factory(
        attrs.has, lambda cls: _class_of(converter, cls)
    )
    converter.register_structure_hook_func(lambda hint: hint is Any, lambda node, _: to_data(node))
    converter.register_structure_hook_func(_is_sequence, _sequence)
    converter.register_structure_hook_func(_is_mapping, _mapping)
    converter.register_structure_hook_func(
        lambda hint: typing.get_origin(hint) is typing.Literal,
        lambda node, hint: choice(node, [str(word) for word in typing.get_args(hint)]),
    )
    readers: dict[Any, Callable[[Any], Any]] = {
        bool: boolean,
        int: whole_number,
        float: _fraction,
        Path: lambda node: Path(line(node)),
        Line: line,
        Script: _script,
        FilePath: line,
        AcceleratorName: _accelerator,
        UserName: _user,
        Suffix: _suffix,
        Count: lambda node: whole_number(node, least=0),
        Positive: lambda node: whole_number(node, least=1),
        TaskId: _task_id,
        TaskIds: _task_ids,
        GitName: _git_name,
        WorkFolder: lambda node: work_folder(line(node)),
        Duration: lambda node: seconds(text(node)),
        Environment: _environment,
        Pairs: _pairs,
        Prefixes: _prefixes,
        Workers: workers,
        Loop: _loop,
    }
    for hint, read in readers.items():
        converter.register_structure_hook(hint, _two(read))
    converter.register_structure_hook(enum.Enum, _enum)
    converter.register_structure_hook(str, _text_or_enum)
    return converter


def _two(read: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """Fit a reader to cattrs, which passes the type along."""
    return lambda node, _: read(node)
