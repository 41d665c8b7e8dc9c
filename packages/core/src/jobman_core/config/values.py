"""What single values may be: each reader gives a value of a node, or says what is wrong with it."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date, time
from typing import Any, Final, TypeVar

from cattrs.errors import IterableValidationError, IterableValidationNote

from jobman_core.command import is_variable
from jobman_core.config.faults import WrongValueError, meant
from jobman_core.config.nodes import (
    Map,
    Scalar,
    Seq,
    as_bool,
    as_float,
    as_int,
    is_null,
    short,
    what,
)
from jobman_core.models.accelerator import Accelerator
from jobman_core.models.job import Loop
from jobman_core.models.task import Workers

_T = TypeVar("_T")

#: Seconds, by the letter that stands for them.
UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
ZONE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
#: No moment so much later than another is beyond the calendar.
_LONGEST_DURATION: Final = 100 * 365.25 * 86400
DURATION: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([smhd]?)")
TIME: Final = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")
CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
USER: Final = re.compile(r"[a-z_][a-z0-9_-]*")
SUFFIX: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,30}")
SNAPSHOT: Final = re.compile(r"[0-9a-f]{64}")
#: What a program is told by jobman itself.
_RESERVED: Final = "JOBMAN_"
_LONGEST_NAME: Final = 100
_LONGEST_ID: Final = 200


def text(node: object) -> str:
    """Read a scalar as text, as it was written."""
    if not isinstance(node, Scalar):
        raise WrongValueError(f"it must be text, not {what(node)}")
    if node.null:
        raise WrongValueError("it has no value: write one")
    return node.text


def name(node: object) -> str:
    """Read a name that people and files use."""
    value = line(node)
    if len(value) > _LONGEST_NAME:
        raise WrongValueError(f"it has {len(value)} characters and may have {_LONGEST_NAME}")
    return value


def line(node: object) -> str:
    """Read one line of text that is not empty."""
    value = text(node)
    if not value.strip():
        raise WrongValueError("it is empty: write a value")
    if CONTROL.search(value):
        raise WrongValueError(f"it must be one line of plain text, not {short(value)!r}")
    return value


def zone(node: object) -> str:
    """Read the name of a zone."""
    value = line(node)
    if not is_zone(value):
        raise WrongValueError(f"{short(value)!r} is no zone: write one like us-central1-b")
    return value


def is_zone(value: str) -> bool:
    """Tell whether a text can name a zone."""
    return ZONE.fullmatch(value) is not None


def script(node: object) -> str:
    """Read a shell script that is not empty."""
    value = text(node)
    if not value.strip():
        raise WrongValueError("the script is empty: write what to run, or take the key out")
    return value


def whole_number(node: object, *, least: int | None = None) -> int:
    """Read a whole number."""
    number = as_int(node) if isinstance(node, Scalar) else None
    if number is None:
        raise WrongValueError(f"it must be a whole number, not {what(node)}")
    if least is not None and number < least:
        raise WrongValueError(f"it must be {least} or more, not {number}")
    return number


def fraction(node: object) -> float:
    """Read a finite number."""
    number = as_float(node) if isinstance(node, Scalar) else None
    if number is None:
        raise WrongValueError(f"it must be a number, not {what(node)}")
    return number


def amount(node: object) -> float:
    """Read an amount of money."""
    number = fraction(node)
    if number < 0:
        raise WrongValueError(f"a price is 0 or more, not {what(node)}")
    return number


def day(node: object) -> str:
    """Read a day, like ``2026-12-01``."""
    value = line(node)
    try:
        return date.fromisoformat(value).isoformat()
    except ValueError as error:
        raise WrongValueError(f"{short(value)!r} is no day: write one like 2026-12-01") from error


def currency(node: object) -> str:
    """Read what money is counted in: a code of ISO 4217, like ``EUR``."""
    value = line(node)
    if not re.fullmatch("[A-Z]{3}", value):
        raise WrongValueError(f"{short(value)!r} is no currency: write its code, like EUR")
    return value


def boolean(node: object) -> bool:
    """Read a boolean; ``yes``, ``no``, ``on`` and ``off`` are some, as in YAML 1.1."""
    value = as_bool(node) if isinstance(node, Scalar) else None
    if value is None:
        raise WrongValueError(f"it must be true or false, not {what(node)}")
    return value


def seconds(value: str) -> float:
    """Read a duration: a number of seconds, or ``90s``, ``10m``, ``2h``, ``1d``.

    Raises:
        ValueError: it is none.
    """
    found = DURATION.fullmatch(value.strip())
    number = float(found[1]) * UNITS[found[2]] if found else math.inf
    if not math.isfinite(number):
        raise WrongValueError(
            f"{short(value)!r} is no duration: write seconds, or something like 90s, 10m, 2h, 1d"
        )
    if number > _LONGEST_DURATION:
        raise WrongValueError(f"{short(value)!r} is longer than 100 years: write less")
    return number


def workers(node: object) -> Workers:
    """Read which hosts something runs on: an index, a list of them, or ``all``."""
    if isinstance(node, Scalar):
        if node.text == "all":
            return Workers("all")
        return Workers((host(node),))
    if not isinstance(node, Seq) or not node:
        raise WrongValueError(
            f'it must be a host\'s index, a list of them, or "all", not {what(node)}'
        )
    indices = each(enumerate(node), host)
    double = [index for index, times in Counter(indices).items() if times > 1]
    if double:
        raise WrongValueError(f"host {double[0]} is named twice: name each once")
    return Workers(tuple(indices))


def host(node: object) -> int:
    """Read one host's index."""
    number = as_int(node) if isinstance(node, Scalar) else None
    if number is None or number < 0:
        raise WrongValueError(f'a host is an index from 0 on, or "all", not {what(node)}')
    return number


def loop(node: object) -> Loop:
    """Read ``job.loop``."""
    if isinstance(node, Scalar):
        value = as_bool(node)
        if value is not None:
            return Loop.RECOVER if value else Loop.NEVER
        if node.text == Loop.ALWAYS:
            return Loop.ALWAYS
    raise WrongValueError(f"it must be true, false or always, not {what(node)}")


def user(node: object) -> str:
    """Read the name of a user of the hosts."""
    name = line(node)
    if not USER.fullmatch(name):
        raise WrongValueError(
            f"{short(name)!r} is no user name: use small letters, digits, - and _"
        )
    return name


def suffix(node: object) -> str:
    """Read what makes a name unique."""
    word = line(node)
    if not SUFFIX.fullmatch(word):
        raise WrongValueError(
            f"{short(word)!r} cannot end a name: write auto, a number or one word"
        )
    return word


def accelerator(node: object) -> str:
    """Read a TPU type, and give its usual name."""
    return Accelerator.parse(line(node)).name


def task_id(node: object) -> str:
    """Read the id of a task."""
    name = line(node)
    if len(name) > _LONGEST_ID:
        raise WrongValueError(f"it has {len(name)} characters, and an id may have {_LONGEST_ID}")
    return name


def task_ids(node: object) -> tuple[str, ...]:
    """Read one task id, or a list of them."""
    return tuple(each(enumerate(node), task_id)) if isinstance(node, Seq) else (task_id(node),)


def time_zone(node: object) -> str:
    """Read the name of a time zone, like ``Europe/Paris``."""
    from zoneinfo import ZoneInfo

    value = line(node)
    try:
        return ZoneInfo(value).key
    except (ValueError, OSError, KeyError) as error:
        raise WrongValueError(
            f"no time zone is called {short(value)!r}: write one like Europe/Paris"
        ) from error


def time_of_day(node: object) -> time:
    """Read a time of day, like ``09:00``."""
    value = line(node)
    found = TIME.fullmatch(value)
    if not found:
        raise WrongValueError(f"{short(value)!r} is no time of day: write one like 09:00")
    return time(int(found[1]), int(found[2]))


def git_name(node: object) -> str:
    """Read what git is given as an argument."""
    name = line(node)
    if name.startswith("-"):
        raise WrongValueError(f"{short(name)!r} begins with a dash, which git takes for an option")
    return name


def work_folder(name: str) -> str:
    """Read a folder below the home folder of a host.

    Raises:
        ValueError: it would be the home folder itself, or lie outside of it.
    """
    plain = name.rstrip("/")
    parts = plain.split("/")
    # What is in such a folder is removed: without ~/.ssh nobody gets to a host any more.
    taken = name.startswith(("/", "~", ".jobman")) or parts[0] == ".ssh"
    if taken or not {"", ".", ".."}.isdisjoint(parts):
        raise WrongValueError(
            f"{short(name)!r} is no folder for code: write a plain relative path, like my-repo, "
            "that does not begin with .jobman or .ssh"
        )
    return plain


def pattern(node: object) -> str:
    """Read a pattern as in a ``.gitignore``."""
    from pathspec import GitIgnoreSpec

    value = line(node)
    try:
        GitIgnoreSpec.from_lines([value])
    except ValueError as error:
        msg = f"{short(value)!r} is no pattern: write one as in a .gitignore"
        raise WrongValueError(msg) from error
    return value


def snapshot(node: object) -> str:
    """Read the hash of an archive of code."""
    value = line(node)
    if not SNAPSHOT.fullmatch(value):
        raise WrongValueError(
            f"{short(value)!r} names no snapshot of code: take it out to ship the folder as it is"
        )
    return value


def value(node: object) -> str:
    """Read the value of a variable: any scalar, as it was written; nothing is empty text."""
    return "" if is_null(node) else text(node)


def environment(node: object) -> dict[str, str]:
    """Read variables for programs: any scalar is text, as it was written."""
    if not isinstance(node, Map):
        raise WrongValueError(f"it must be a map of names and values, not {what(node)}")

    def read(name: str) -> tuple[str, str]:
        if not is_variable(name):
            raise WrongValueError(
                f"{short(name)!r} is no name of a shell variable: use letters, digits and _, "
                "and none that bash keeps for itself"
            )
        if name.startswith(_RESERVED):
            raise WrongValueError(
                f"{name!r} is jobman's own: names beginning with {_RESERVED} are taken"
            )
        return name, value(node[name])

    return dict(each(((name, name) for name in node), read))


def pairs(node: object) -> dict[str, str]:
    """Read ``KEY: value`` or a list of ``KEY=VALUE``."""
    if isinstance(node, Map):
        names = each(((name, name) for name in node), lambda name: (name, value(node[name])))
        return dict(names)
    if not isinstance(node, Seq):
        raise WrongValueError(f"it must be a map, or a list of KEY=VALUE, not {what(node)}")

    def read(item: object) -> tuple[str, str]:
        name, sign, value = text(item).partition("=")
        if not name or not sign:
            # What stands there may be a secret.
            raise WrongValueError("it must be KEY=VALUE: write the name, =, and the value")
        return name, value

    return dict(each(enumerate(node), read))


def choice(node: object, choices: Sequence[str]) -> str:
    """Read one of some words."""
    word = text(node)
    if word not in choices:
        raise WrongValueError(f"{short(word)!r} is not possible{meant(word, choices)}")
    return word


def each(items: Iterable[tuple[str | int, Any]], read: Callable[[Any], _T]) -> list[_T]:
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
