"""Requirements files, with what they include, as what hosts can install from.

The format is pip's: https://pip.pypa.io/en/stable/reference/requirements-file-format/. What is no
fault here is left to pip, or uv, to judge.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs

_COMMENT: Final = re.compile(r"(^|\s+)#.*$")
_OPTION: Final = re.compile(r"(--[a-z][a-z-]*|-[A-Za-z])(?:[=\s]\s*)?(.*)", re.DOTALL)
#: Options of one requirement stand behind it.
_OWN_OPTIONS: Final = re.compile(r"\s--?[a-z].*", re.DOTALL)
_SHORT: Final = {
    "-r": "--requirement",
    "-c": "--constraint",
    "-e": "--editable",
    "-f": "--find-links",
    "-i": "--index-url",
}
#: Those that uv heeds (uv's documentation, "Compatibility with pip"): it passes others over with a
#: warning, so that files that hold them are pip's to read.
_UV_KNOWS: Final = frozenset(
    {
        "--index-url",
        "--extra-index-url",
        "--no-index",
        "--find-links",
        "--no-binary",
        "--only-binary",
    }
)
_VCS: Final = re.compile(r"(?:[^@\s]+\s*@\s*)?(?:git|hg|svn|bzr)\+")
_ARCHIVES: Final = (".whl", ".zip", ".tar.gz", ".tar.bz2", ".tar.xz", ".tgz")
_ON_HOSTS: Final = "hosts have no such file: install it in a prefix script or in the task itself"


@attrs.define
class Requirements:
    """What a requirements file comes to, and what is wrong with it."""

    lines: list[str] = attrs.field(factory=list)
    constraints: list[str] = attrs.field(factory=list)
    #: The packages that it asks for wherever it is installed, as it writes them.
    names: list[str] = attrs.field(factory=list)
    #: It says things that uv does not heed.
    for_pip: bool = False
    #: Nothing is to be fetched from an index.
    offline: bool = False
    #: A line each; such a file cannot be installed on a host.
    faults: list[str] = attrs.field(factory=list)

    @classmethod
    def read(cls, path: Path) -> "Requirements":
        """Read a file and all that it includes."""
        found = cls()
        if path.suffix in {".toml", ".lock", ".yml", ".yaml"}:
            wrong = "is no requirements file: write one that pip reads (`uv export`, `pip freeze`)"
            found.faults.append(f"{path} {wrong}")
            return found
        _File(found, path, (), constraints=False).read()
        return found

    @property
    def content(self) -> bytes:
        """The requirements as one file that includes no other."""
        return _text(self.lines)

    @property
    def constraints_content(self) -> bytes:
        """All constraints as one file; empty if there are none."""
        return _text(self.constraints)


def _text(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


@attrs.frozen
class _File:
    """One file on the way through those that include one another."""

    found: Requirements
    path: Path
    above: tuple[Path, ...]
    constraints: bool

    def read(self) -> None:
        """Add its lines to what was found."""
        if self.path.resolve() in self.above:
            self.found.faults.append(f"{self.path} includes itself: take one of the includes out")
            return
        try:
            text = self.path.read_text(encoding="utf-8-sig")
        except OSError as error:
            self.found.faults.append(
                f"{self.path} cannot be read: {error.strerror}: correct the name"
            )
            return
        except UnicodeDecodeError:
            self.found.faults.append(f"{self.path} is not text in UTF-8: save it as that")
            return
        for number, line in _logical_lines(text):
            self._line(number, line)

    def _line(self, number: int, line: str) -> None:
        if not line.startswith("-"):
            self._requirement(number, line)
            return
        match = _OPTION.fullmatch(line)
        name, value = match.groups() if match else (line, "")
        name = _SHORT.get(name, name)
        if name in {"--requirement", "--constraint"}:
            self._include(number, _plain(value), constraints=name == "--constraint")
        elif name == "--editable":
            self._editable(number, line, _plain(value))
        elif name == "--find-links" and not _is_reachable(_plain(value)):
            self._fault(number, f"{_plain(value)!r} is a folder of this machine: {_ON_HOSTS}")
        else:
            self.found.for_pip |= name not in _UV_KNOWS
            self.found.offline |= name == "--no-index"
            self._add(line)

    def _include(self, number: int, name: str, *, constraints: bool) -> None:
        if "://" in name:
            self._fault(
                number,
                f"{name} is not looked at when it changes: download it, and name the file here",
            )
        elif self.constraints and not constraints:
            self._fault(number, "constraints cannot include requirements: include them with -c")
        else:
            above = (*self.above, self.path.resolve())
            _File(self.found, self.path.parent / name, above, constraints=constraints).read()

    def _editable(self, number: int, line: str, target: str) -> None:
        if _VCS.match(target):
            self.found.for_pip = True
            self._add(line)
            return
        self._fault(
            number,
            f"-e {target} is a folder of this machine: hosts have no such folder: install it in "
            "the task itself, once its code is checked out",
        )

    def _requirement(self, number: int, line: str) -> None:
        from packaging.requirements import InvalidRequirement, Requirement

        wanted = _OWN_OPTIONS.sub("", line).strip()
        options = line[len(wanted) :].split()
        self.found.for_pip |= any(
            option.startswith("-") and not option.startswith("--hash") for option in options
        )
        if _is_local(wanted):
            self._fault(number, f"{wanted!r} is a file of this machine: {_ON_HOSTS}")
            return
        self._add(line)
        try:
            read = Requirement(wanted)
        except InvalidRequirement:
            return  # an address, or something that pip will refuse with a reason
        if read.marker is None and not self.constraints:
            self.found.names.append(read.name)

    def _add(self, line: str) -> None:
        (self.found.constraints if self.constraints else self.found.lines).append(line)

    def _fault(self, number: int, text: str) -> None:
        self.found.faults.append(f"{self.path}:{number}: {text}")


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    r"""Give what is no comment, each with the number of its first line; ``\`` joins lines."""
    begun, first = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        first = first if begun else number
        if line.endswith("\\") and not _COMMENT.match(line):
            begun += line[:-1]
            continue
        whole = _COMMENT.sub("", begun + line).strip()
        begun = ""
        if whole:
            yield first, whole
    if begun.strip():
        yield first, begun.strip()


def _plain(value: str) -> str:
    """Take off the quotes that a name may have."""
    try:
        words = shlex.split(value)
    except ValueError:
        return value.strip()
    return words[0] if words else ""


def _is_reachable(place: str) -> bool:
    """Tell whether a host can look there: an address, or a path of its own."""
    return "://" in place or place.startswith(("/", "file:"))


def _is_local(wanted: str) -> bool:
    if _is_reachable(wanted) or "@" in wanted:
        return False
    word = wanted.partition(";")[0].strip()
    bare = re.sub(r"\[[^\]]*\]$", "", word)
    return "/" in bare or bare.startswith(".") or bare.lower().endswith(_ARCHIVES)
