"""The first half of reading a job file: from its text to one tree of final values."""

import os.path
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs

from jobman_core.config.faults import Faults, WrongValueError, meant
from jobman_core.config.interpolate import NAME, TPU_NAME, Interpolation, any_index
from jobman_core.config.nodes import Map, Node, Path_, Scalar, is_null, scalars, short
from jobman_core.config.sections import (
    CORE_SECTIONS,
    MAIL_SECTION,
    PLUGIN_SECTIONS,
    FilePath,
    Script,
    TpuOptions,
    keys_of_kind,
)
from jobman_core.config.source import Source
from jobman_core.config.surroundings import Surroundings
from jobman_core.config.values import name as read_name
from jobman_core.interfaces.backend import Backend, NoConfig

#: Kinds of backends that a top-level section may be named after.
SECTION_KINDS: Final = ("environment", "storage", "session", "notifier")
#: Node names have at most 63 characters, and a generation (``-g12345``) takes some of them.
_LONGEST_TPU_NAME: Final = 56
_NOTHING: Final = Scalar("", null=True)
_TASKS: Final = ("job", "queue", "config")


@attrs.frozen
class Reading:
    """A job file with every value final."""

    source: Source
    around: Surroundings
    #: It is a user's file, not a snapshot: what it names must exist.
    fresh: bool
    faults: Faults
    values: Interpolation
    tree: Map
    #: The names in the file, before the suffix; empty where they are faulty.
    base_name: str
    base_tpu_name: str
    #: Names and files, as they were decided.
    decided: dict[Path_, str]

    def section(self, name: str) -> Map | None:
        """Give a section; None: it is not there, or empty, or (a fault) no map."""
        node = self.tree.get(name)
        if node is None or isinstance(node, Map):
            return node
        if not (isinstance(node, Scalar) and node.null):
            self.faults.add((name,), "it must be a section with keys of its own")
            self.faults.broken((name,))
        return None


def read(
    source: Source,
    around: Surroundings,
    suffix: str | None,
    *,
    fresh: bool,
    job: str | None = None,
) -> Reading:
    """Compute all values of a job file.

    Args:
        source: the file.
        around: what it is read against.
        suffix: makes the names unique; None: they are so already.
        fresh: the file is a user's, not a snapshot: what it names must exist.
        job: the name that the job has already, and keeps: a user's file gets it, whatever it says,
            and a snapshot must have it.
    """
    faults = Faults(source.path, source.root, source.faults)
    _check_sections(source.root, around, faults)
    scripts = frozenset(_keys(around, Script))
    environ = around.environ

    def interpolation(final: dict[Path_, str]) -> Interpolation:
        return Interpolation(
            source.root, scripts=scripts, environ=environ, faults=faults, final=final
        )

    names = _base_names(source.root, interpolation({}), faults)
    decided = _final_names(names, suffix, faults, named=_names_tpu(source.root))
    if job is not None and NAME in decided:
        if decided[NAME] != job and not fresh:
            faults.add(NAME, f"a job keeps its name, {job}: write it back, or create another job")
        decided[NAME] = job
    values = interpolation(decided)
    tree = values.tree()
    decided |= _find_files(
        tree,
        keys=frozenset(_keys(around, FilePath)),
        source=source,
        around=around,
        faults=faults,
        fresh=fresh,
    )
    return Reading(source, around, fresh, faults, values, tree, *names, decided)


def tpu_name_of(name: str) -> str:
    """Give a name the form that clouds take: small letters, digits and dashes, a letter first."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return plain if plain[:1].isalpha() else f"tpu-{plain}".rstrip("-")


def section_backends(around: Surroundings, name: str) -> Iterator[tuple[str, type[Backend]]]:
    """Find the backends whose section has this name, each with its kind."""
    for kind in SECTION_KINDS:
        found = around.find(kind, name, Backend)
        if found is not None:
            yield kind, found


def section_kinds(around: Surroundings, name: str) -> set[str]:
    """Tell what kinds of backend a section may belong to; ``ssh`` is the core's own."""
    kinds = {kind for kind, _ in section_backends(around, name)}
    if name in PLUGIN_SECTIONS:
        kinds.add(PLUGIN_SECTIONS[name][0] or name)
    return kinds


def section_shape(around: Surroundings, name: str) -> type:
    """Give the class that a section is read into, where it belongs to a backend."""
    for _, backend in section_backends(around, name):
        if backend.Config is not NoConfig:
            return backend.Config
    return PLUGIN_SECTIONS[name][1] if name in PLUGIN_SECTIONS else NoConfig


def _check_sections(root: Map, around: Surroundings, faults: Faults) -> None:
    known = [*CORE_SECTIONS, *PLUGIN_SECTIONS]
    for name in root:
        if name in known or name == MAIL_SECTION or any(section_backends(around, name)):
            continue
        faults.add((name,), f"unknown section {short(name)!r}{meant(name, known)}")
        faults.broken((name,))


def _keys(around: Surroundings, kind: object) -> Iterator[tuple[str, ...]]:
    """Find the keys of a kind in all sections, those of installed plugins too."""
    for name, cls in CORE_SECTIONS.items():
        yield from keys_of_kind(cls, kind, (name,))
    yield from keys_of_kind(TpuOptions, kind, ("tpu",))
    for name, (_, cls) in PLUGIN_SECTIONS.items():
        yield from keys_of_kind(cls, kind, (name,))
    for backend_kind in (*SECTION_KINDS, "cloud"):
        for name in around.plugins.names(backend_kind):
            cls = around.plugins.get(backend_kind, name, Backend).Config
            if cls is NoConfig:
                continue
            section = "tpu" if backend_kind == "cloud" else name
            yield from keys_of_kind(cls, kind, (section,))
            if kind is FilePath:
                # Plugins say it with the standard library's own type.
                yield from keys_of_kind(cls, Path, (section,))


def _base_names(root: Map, values: Interpolation, faults: Faults) -> tuple[str, str]:
    """Give the job's and the TPU's name as the file has them; empty where that is a fault."""
    found: list[str] = []
    for path in (NAME, TPU_NAME):
        section = root.get(path[0])
        raw = section.get(path[1]) if isinstance(section, Map) else None
        if raw is None or (isinstance(raw, Scalar) and raw.null):
            found.append("")
            continue
        value = values.value(path, raw) if isinstance(raw, Scalar) else raw
        found.append("" if value is None else _name(path, value, faults))
    name, tpu_name = found
    return name, tpu_name_of(tpu_name or name) if tpu_name or name else ""


def _names_tpu(root: Map) -> bool:
    tpu = root.get(TPU_NAME[0])
    return isinstance(tpu, Map) and not is_null(tpu.get(TPU_NAME[1], _NOTHING))


def _name(path: Path_, value: Node, faults: Faults) -> str:
    try:
        return read_name(value)
    except WrongValueError as error:
        faults.add(path, str(error))
        faults.broken(path)
        return ""


def _final_names(
    names: tuple[str, str], suffix: str | None, faults: Faults, *, named: bool
) -> dict[Path_, str]:
    """Give the names with their suffix; ``named``: the TPU has a name of its own."""
    name, tpu_name = names
    final: dict[Path_, str] = {}
    if name:
        final[NAME] = name if suffix is None else f"{name}_{suffix}"
    if tpu_name:
        full = tpu_name if suffix is None else f"{tpu_name}-{tpu_name_of(f'x{suffix}')[1:]}"
        final[TPU_NAME] = full
        if len(full) > _LONGEST_TPU_NAME:
            over = len(full) - _LONGEST_TPU_NAME
            message = f"the slice would be called {full!r}: make the name {over} characters shorter"
            faults.add(TPU_NAME if named else NAME, message)
    return final


def _find_files(
    tree: Map,
    *,
    keys: frozenset[tuple[str, ...]],
    source: Source,
    around: Surroundings,
    faults: Faults,
    fresh: bool,
) -> dict[Path_, str]:
    """Make the files that the job file names absolute, in the tree too."""
    found: dict[Path_, str] = {}
    for path, scalar in scalars(tree):
        if any_index(path) not in keys or scalar.null or not scalar.text.strip():
            continue
        if "\0" in scalar.text or faults.is_broken(path):
            continue
        tried = places_of(scalar.text, Path(source.path), around.home.root)
        existing = [place for place in tried if os.path.lexists(place)]
        found[path] = str((existing or tried)[0])
        if path == _TASKS and fresh and not existing:
            where = " and ".join(map(str, tried))
            faults.add(path, f"there is no such tasks file: looked for {where}")
        scalar.text = found[path]
    return found


def places_of(text: str, file: Path, home: Path | None) -> list[Path]:
    """Give where what a file names may lie: from the home, then from the file's own folder."""
    given = Path(os.path.expanduser(text))  # noqa: PTH111 - Path's own raises for unknown users
    if given.is_absolute():
        return [given]
    bases = (home.absolute(),) if home else ()
    tried = (os.path.normpath(base / given) for base in (*bases, file.absolute().parent))
    return list(dict.fromkeys(map(Path, tried)))
