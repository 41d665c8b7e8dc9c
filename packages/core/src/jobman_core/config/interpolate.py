"""Interpolation of job files: ``${section.key}`` and ``${oc.env:NAME,default}``.

What the environment gives is data: it is never interpolated again. In scripts only what names a
section of the file, or the environment, is ours; every other dollar is the shell's.
"""

import difflib
import re
from collections.abc import Collection, Mapping
from typing import Final

from jobman_core.config.faults import Faults
from jobman_core.config.nodes import (
    Map,
    Node,
    Path_,
    Scalar,
    Seq,
    dotted,
    is_null,
    scalars,
    short,
    what,
)

NAME: Final = ("job", "name")
TPU_NAME: Final = ("tpu", "name")

ENV: Final = "oc.env:"
_KEY: Final = re.compile(r"[A-Za-z_][\w-]*(?:\.[\w-]+)+")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
#: Ours in any value; ``\${`` is a plain ``${``.
_IN_VALUES: Final = re.compile(r"(?<!\\)(\\*)\$\{([^{}]*)(\}?)")
#: Ours in a script, unless its dollar is quoted or half of a ``$$``.
_IN_SCRIPTS: Final = re.compile(
    r"(?<![\\$])(\\*)(\$+)\{([A-Za-z_][\w-]*(?:\.[\w-]+)+|oc\.env:[^{}]*)\}"
)
#: Characters that one value, and all values together, may grow to.
_LONGEST: Final = 1 << 20
_LARGEST: Final = 8 << 20
#: Values that refer to values that refer to values …
_STEPS: Final = 50
_SUGGESTED_FROM: Final = 500


class _BadError(Exception):
    """A value cannot be had; the fault is noted, or this is its text."""


class Interpolation:
    """All values of one file, each computed once."""

    def __init__(
        self,
        root: Map,
        *,
        scripts: Collection[tuple[str, ...]],
        environ: Mapping[str, str],
        faults: Faults,
        final: Mapping[Path_, str] | None = None,
    ) -> None:
        """Begin.

        Args:
            root: the file.
            scripts: the keys whose values are scripts, ``*`` for any index.
            environ: what ``oc.env`` reads.
            faults: gets what is wrong.
            final: values that are known already, whatever the file says; they are literal.
        """
        self._root = root
        self._scripts = scripts
        self._environ = environ
        self._faults = faults
        self._done: dict[Path_, Scalar | None] = {
            path: Scalar(text) for path, text in (final or {}).items()
        }
        self._stack: list[Path_] = []
        self._size = 0

    def tree(self) -> Map:
        """Give the file with all values final; those that cannot be had are noted as broken."""
        result = self._copy(self._root, ())
        assert isinstance(result, Map)  # noqa: S101 - for the type checker: a map's copy is one
        return result

    def value(self, path: Path_, raw: Scalar) -> Scalar | None:
        """Give one value; None, with the fault noted, if it cannot be had."""
        if path not in self._done:
            self._done[path] = self._compute(path, raw)
        return self._done[path]

    def pin(self, path: Path_, raw: Scalar) -> Scalar | None:
        """Give a value with only the environment's part computed; None if it cannot be had."""
        if self.value(path, raw) is None:
            return None
        try:
            return self._text(raw.text, path, raw, only_environment=True)
        except _BadError:
            return None

    def expand(self, path: Path_, text: str) -> str | None:
        """Give what a text would become if it stood at a path; None if it cannot be had."""
        try:
            return self._text(text, path).text
        except _BadError:
            return None

    def is_script(self, path: Path_) -> bool:
        """Tell whether a key's value is a script."""
        return any_index(path) in self._scripts

    def environment(self, expression: str) -> Scalar:
        """Read ``oc.env:NAME`` or ``oc.env:NAME,default``.

        Raises:
            ValueError: it is not set and has no default, or is malformed.
        """
        name, comma, default = expression.removeprefix(ENV).partition(",")
        name = name.strip()
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a variable: write ${{oc.env:NAME}}")
        found = self._environ.get(name)
        if found is not None:
            return Scalar(found, plain=True, null=False)
        if not comma:
            raise ValueError(
                f"the variable {name} is not set: set it, or write ${{oc.env:{name},default}}"
            )
        default = default.strip()
        if len(default) > 1 and default[0] == default[-1] and default[0] in "'\"":
            return Scalar(default[1:-1])
        return Scalar(default, plain=True, null=default == "null")

    def _copy(self, node: Node, path: Path_) -> Node:
        if isinstance(node, Scalar):
            value = self.value(path, node)
            return node if value is None else node.replaced(value)
        if isinstance(node, Seq):
            items = [self._copy(child, (*path, index)) for index, child in enumerate(node)]
            return Seq(items, node.line, node.column)
        fresh = node.without(node)
        for key, child in node.items():
            fresh[key] = self._copy(child, (*path, key))
        return fresh

    def _compute(self, path: Path_, raw: Scalar) -> Scalar | None:
        if "$" not in raw.text:
            return raw
        self._stack.append(path)
        try:
            return self._text(raw.text, path, raw)
        except _BadError as bad:
            if bad.args:
                self._faults.add(path, str(bad))
            self._faults.broken(path)
            return None
        finally:
            self._stack.pop()

    def _text(
        self, text: str, path: Path_, raw: Scalar | None = None, *, only_environment: bool = False
    ) -> Scalar:
        script = self.is_script(path)
        pattern = _IN_SCRIPTS if script else _IN_VALUES
        pieces: list[str] = []
        last = size = 0
        for found in pattern.finditer(text):
            if script and not self._is_ours(found):
                continue
            if only_environment and not _is_environment(found, script=script):
                continue
            value, before = self._script_value(found) if script else self._plain_value(found)
            whole = found.span() == (0, len(text)) and not before
            if whole and value is not None and not script:
                self._count(len(value.text))
                return value
            shown = "" if value is None or value.null else value.text
            piece = text[last : found.start()] + before + shown
            pieces.append(piece)
            last = found.end()
            size += len(piece)
            self._count(len(piece), size)
        if not pieces:
            return raw or Scalar(text)
        pieces.append(text[last:])
        return Scalar("".join(pieces))

    def _is_ours(self, found: re.Match[str]) -> bool:
        """Tell whether what looks like ours in a script is."""
        slashes, dollars, expression = found[1], found[2], found[3]
        if (len(dollars) == 1 and len(slashes) % 2) or len(dollars) % 2 == 0:
            return False
        return expression.startswith(ENV) or isinstance(
            self._root.get(expression.partition(".")[0]), Map
        )

    def _script_value(self, found: re.Match[str]) -> tuple[Scalar, str]:
        return self._evaluate(found[3]), found[1] + found[2][:-1]

    def _plain_value(self, found: re.Match[str]) -> tuple[Scalar | None, str]:
        slashes = found[1]
        before = slashes[: len(slashes) // 2]
        if len(slashes) % 2:
            return None, before + found[0][len(slashes) :]
        if not found[3]:
            raise _BadError(
                f"unfinished interpolation {short(found[0])!r}: close it, or write \\${{ for ${{"
            )
        return self._evaluate(found[2]), before

    def _evaluate(self, expression: str) -> Scalar:
        if expression.startswith(ENV):
            try:
                return self.environment(expression)
            except ValueError as error:
                raise _BadError(str(error)) from error
        if not _KEY.fullmatch(expression):
            raise _BadError(
                f"unknown interpolation ${{{short(expression)}}}: write ${{section.key}} or "
                "${oc.env:NAME}, or \\${ for a plain ${"
            )
        return self._lookup(tuple(expression.split(".")), expression)

    def _lookup(self, path: tuple[str, ...], expression: str) -> Scalar:
        known = self._done.get(path)
        if known is not None:
            return known
        node: Node | None = self._root
        for part in path:
            node = node.get(part) if isinstance(node, Map) else None
        if path == TPU_NAME and (node is None or is_null(node)):
            # Without a name of its own a TPU has the job's.
            return self._lookup(NAME, ".".join(NAME))
        if node is None:
            raise _BadError(
                f"unknown interpolation ${{{short(expression)}}}{self._near(expression)}"
            )
        if not isinstance(node, Scalar):
            raise _BadError(f"${{{expression}}} is {what(node)}: name one of its values")
        if path in self._stack:
            self._circle(path)
        if len(self._stack) > _STEPS:
            raise _BadError(f"the values refer to each other over {_STEPS} steps: simplify")
        value = self.value(path, node)
        if value is None:
            raise _BadError
        return value

    def _circle(self, path: Path_) -> None:
        circle = [*self._stack[self._stack.index(path) :], path]
        shown = " -> ".join(map(dotted, circle))
        self._faults.add(path, f"the values refer to each other: {shown}: break the circle")
        raise _BadError

    def _near(self, expression: str) -> str:
        names: list[str] = []
        for path, _ in scalars(self._root):
            names.append(dotted(path))
            if len(names) >= _SUGGESTED_FROM:
                break
        near = difflib.get_close_matches(expression, names, 1)
        return f" (did you mean ${{{near[0]}}}?)" if near else ": the file has no such key"

    def _count(self, more: int, size: int = 0) -> None:
        self._size += more
        if self._size > _LARGEST or size > _LONGEST:
            raise _BadError("interpolation blows the values up beyond reason: write less with it")


def _is_environment(found: re.Match[str], *, script: bool) -> bool:
    """Tell whether a piece is replaced by what the environment gives."""
    return found[3 if script else 2].startswith(ENV) and (script or not len(found[1]) % 2)


def any_index(path: Path_) -> tuple[str, ...]:
    """Write a path with ``*`` for every index."""
    return tuple("*" if isinstance(part, int) else part for part in path)


def literal(text: str) -> str:
    """Write a text so that interpolation leaves it as it is."""
    return re.sub(r"(?<!\\)(\\*)\$\{", lambda found: f"{found[1] * 2}\\${{", text)
