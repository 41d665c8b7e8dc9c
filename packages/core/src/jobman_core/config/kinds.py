"""What values may look like, for JSON Schema: one entry for each reader of single values.

A scalar is text as it was written wherever a key wants text, so numbers and booleans are text too.
The schema is for editors: what it lets pass may still be refused by the reader, which knows more.
"""

import re
from collections.abc import Mapping
from datetime import time
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import attrs

from jobman_core.config import sections, values
from jobman_core.config.nodes import FALSE, TRUE
from jobman_core.interfaces.backend import Count, Duration
from jobman_core.models.accelerator import FAMILIES, family_names
from jobman_core.models.job import Loop
from jobman_core.models.task import Workers

Schema = dict[str, Any]

_SCALAR: Final = ("string", "number", "boolean")
_FILLED: Final = r"\S"
#: Powers of two, which most slices have.
_SIZES: Final = (1, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
#: From here on a name that counts cores is one that there is.
_LEAST_CORES: Final = 8


@attrs.frozen
class Kind:
    """What single values of one kind may be."""

    #: Where it stands in ``$defs``.
    name: str
    #: For people.
    title: str
    schema: Schema
    #: Any text will do: an interpolation is nothing special there.
    any_text: bool = False


def whole(pattern: re.Pattern[str] | str) -> str:
    """Write a pattern that a whole text matches as one that is searched for."""
    return f"^(?:{pattern if isinstance(pattern, str) else pattern.pattern})$"


def _text(*patterns: str) -> Schema:
    schema: Schema = {"type": list(_SCALAR)}
    if len(patterns) == 1:
        return schema | {"pattern": patterns[0]}
    return schema | ({"allOf": [{"pattern": pattern} for pattern in patterns]} if patterns else {})


def _any_case(words: frozenset[str]) -> str:
    """Match words in small and capital letters: YAML 1.2 takes most of them for text."""
    letters = ("".join(f"[{c.upper()}{c}]" for c in word) for word in sorted(words))
    return "|".join(letters)


def _number(kind: str, **limits: float) -> Schema:
    """Describe a number; one with ``_`` between its digits is text to YAML 1.2."""
    pattern = whole(r"[-+]?[0-9][0-9_.]*_[0-9_.]*([eE][-+]?[0-9]+)?")
    return {"anyOf": [{"type": kind, **limits}, {"type": "string", "pattern": pattern}]}


def _workers() -> Schema:
    index = {"anyOf": [_number("integer", minimum=0), INTERPOLATED]}
    several = {"type": "array", "items": index, "minItems": 1, "uniqueItems": True}
    return {"anyOf": [{"const": "all"}, _number("integer", minimum=0), several]}


def _accelerators() -> Schema:
    usual = [
        f"{family}-{size}"
        for family, (counts_chips, _) in FAMILIES.items()
        for size in _SIZES
        if counts_chips or size >= _LEAST_CORES
    ]
    names = "|".join(family_names())
    return {"anyOf": [{"enum": usual}, _text(f"^({names})-[1-9][0-9]*$")]}


def _map(names: Schema) -> Schema:
    return {"type": "object", "propertyNames": names, "additionalProperties": VALUE}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


#: The value of a variable: nothing is empty text.
VALUE: Final[Schema] = {"type": [*_SCALAR, "null"]}
#: A value that another key or the environment gives, in job files.
INTERPOLATED: Final[Schema] = {"type": "string", "pattern": r"\$\{"}
_ONE_LINE: Final = f"^[^{values.CONTROL.pattern[1:]}*$"
_LINE: Final = _text(_FILLED, _ONE_LINE)
_BOOLEAN: Final[Schema] = {
    "anyOf": [{"type": "boolean"}, {"type": "string", "pattern": whole(_any_case(TRUE | FALSE))}]
}
_VARIABLE: Final = r"^(?!JOBMAN_)[A-Za-z_][A-Za-z0-9_]*$"
_TEXT: Final = Kind("text", "text", _text(), any_text=True)
_PATH: Final = Kind("path", "a path", _LINE)

#: Of all that :mod:`jobman_core.config.structure` reads by a reader of its own, but for sections.
KINDS: Final[Mapping[Any, Kind]] = {
    str: _TEXT,
    bool: Kind("boolean", "true or false", _BOOLEAN),
    int: Kind("integer", "a whole number", _number("integer")),
    float: Kind("number", "a number", _number("number")),
    Path: _PATH,
    sections.FilePath: _PATH,
    sections.Line: Kind("line", "one line of text", _LINE),
    sections.ZoneName: Kind("zone", "a zone", _text(whole(values.ZONE))),
    sections.Script: Kind("script", "a shell script", _text(_FILLED), any_text=True),
    sections.AcceleratorName: Kind("accelerator", "a type of TPU", _accelerators()),
    sections.UserName: Kind("user", "a user name", _text(whole(values.USER))),
    sections.Suffix: Kind("suffix", "`auto`, a number or a word", _text(whole(values.SUFFIX))),
    Count: Kind("count", "a whole number, 0 or more", _number("integer", minimum=0)),
    sections.Positive: Kind("positive", "a whole number, 1 or more", _number("integer", minimum=1)),
    sections.TimeZone: Kind("time-zone", "a time zone, like `Europe/Paris`", _LINE),
    ZoneInfo: Kind("time-zone", "a time zone, like `Europe/Paris`", _LINE),
    time: Kind("time", "a time of day, like `09:00`", _text(whole(values.TIME))),
    sections.Amount: Kind("amount", "an amount of money", _number("number", minimum=0)),
    sections.Day: Kind("day", "a day, like `2026-12-01`", _LINE),
    sections.Currency: Kind("currency", "a currency, like `EUR`", _text("^[A-Z]{3}$")),
    sections.TaskId: Kind("task-id", "the id of a task", _LINE),
    sections.TaskIds: Kind(
        "task-ids", "the id of a task, or a list", {"anyOf": [_LINE, _list(_LINE)]}
    ),
    sections.GitName: Kind("git-name", "a name that git takes", _text(r"^(?!-)", _ONE_LINE)),
    sections.WorkFolder: Kind("folder", "a folder below the home folder", _text(r"^(?![/~])")),
    sections.Pattern: Kind("pattern", "a pattern", _LINE),
    sections.Snapshot: Kind("snapshot", "a hash", _text(whole(values.SNAPSHOT))),
    Duration: Kind(
        "duration",
        "seconds, or like `90s`, `10m`, `2h`, `1d`",
        {
            "anyOf": [
                {"type": "number", "minimum": 0},
                _text(rf"^\s*(?:{values.DURATION.pattern})\s*$"),
            ]
        },
    ),
    sections.Environment: Kind("environment", "a map of variables", _map({"pattern": _VARIABLE})),
    sections.Pairs: Kind(
        "pairs",
        "a map, or a list of `KEY=VALUE`",
        {"anyOf": [_map({}), _list({"anyOf": [_text("^[^=]+="), INTERPOLATED]})]},
    ),
    Workers: Kind("workers", "`all`, the index of a host, or a list of them", _workers()),
    Loop: Kind("loop", "true, false or `always`", {"anyOf": [_BOOLEAN, {"const": "always"}]}),
}
