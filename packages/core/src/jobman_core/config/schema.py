"""JSON Schema (2020-12) of job files, tasks files and settings, from what their readers go by.

The keys are the fields of the classes that sections are read into, those of installed plugins
included, and their texts are the comments above them: a key that is added there is in the schema.
"""

import enum
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Union

import attrs

from jobman_core.config import sections, values
from jobman_core.config.kinds import INTERPOLATED, KINDS, VALUE, Kind, Schema
from jobman_core.config.reading import SECTION_KINDS, section_kinds, section_shape
from jobman_core.config.settings_file import BACKENDS, SettingsFile
from jobman_core.config.structure import is_mapping, is_sequence
from jobman_core.config.surroundings import Surroundings
from jobman_core.config.texts import summary_of, texts_of
from jobman_core.errors import InvalidInputError, instead
from jobman_core.interfaces.backend import Backend, Duration, NoConfig
from jobman_core.models.job import Loop
from jobman_core.models.notice import Audience, NotifyRule
from jobman_core.plugins import BUILTIN, KNOWN_DISTRIBUTIONS, Plugins

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_NULL: Final[Schema] = {"type": "null"}
#: Without these sections there is no job.
_NEEDED: Final = ("job", "tpu")
_OLD: Final = "Mail settings of an old version: they have no effect."


def job_schema(around: Surroundings) -> Schema:
    """Describe job files, as the installed plugins allow them."""
    writer = _Writer(interpolates=True)
    known: dict[str, Schema] = {}
    rules: list[Schema] = []
    for name in _sections(around.plugins):
        shape = sections.CORE_SECTIONS.get(name) or section_shape(around, name)
        section = writer.section(shape) | _origin(around.plugins, section_kinds(around, name), name)
        if name == "tpu":
            rules += _add_options(section, writer, around.plugins)
        if "environment" in section_kinds(around, name):
            # One that is not chosen stands there to be switched to, and need not be whole.
            rules += _needed_if(("job", "env_type"), name, name, section.pop("required", ()))
        known[name] = section if name in _NEEDED else _nullable(section)
    known[sections.MAIL_SECTION] = {"description": _OLD}
    return _document("A job of jobman", writer, _object(known, required=_NEEDED), rules)


def tasks_schema() -> Schema:
    """Describe tasks files."""
    writer = _Writer()
    return _document("Tasks of jobman", writer, writer.section(sections.TasksFile))


def settings_schema(plugins: Plugins) -> Schema:
    """Describe settings, the lab's and one's own, as the installed plugins allow them."""
    writer = _Writer()
    root = writer.section(SettingsFile)
    for kinds in BACKENDS:
        known: dict[str, Schema] = {}
        for name, cls in _backends(plugins, kinds.removesuffix("s")):
            section = writer.section(cls.Settings) | _origin(
                plugins, {kinds.removesuffix("s")}, name
            )
            known[name] = _nullable(section)
        # One that is not installed here may be in use on another machine.
        others = {"type": ["object", "null"]}
        root["properties"][kinds] |= _nullable(_object(known, others=others))
    return _document("Settings of jobman", writer, _nullable(root))


def _document(title: str, writer: "_Writer", root: Schema, rules: Sequence[Schema] = ()) -> Schema:
    document = {
        "$schema": _DIALECT,
        **root,
        "title": title,
        "$defs": dict(sorted(writer.defs.items())),
    }
    return document | ({"allOf": [*rules]} if rules else {})


def _sections(plugins: Plugins) -> Iterator[str]:
    """Give the names of all sections that a job file may have."""
    ours = [*sections.CORE_SECTIONS, *sections.PLUGIN_SECTIONS]
    theirs = [name for kind in SECTION_KINDS for name in plugins.names(kind)]
    yield from dict.fromkeys([*ours, *theirs])


def _backends(plugins: Plugins, kind: str) -> Iterator[tuple[str, type[Backend]]]:
    for name in plugins.names(kind):
        yield name, plugins.get(kind, name, Backend)


def _add_options(tpu: Schema, writer: "_Writer", plugins: Plugins) -> Iterator[Schema]:
    """Let ``tpu`` have the keys of every cloud; gives what the chosen one needs."""
    clouds = {name: cls.Config for name, cls in _backends(plugins, "cloud")}
    for name, shape in {"": sections.TpuOptions, **clouds}.items():
        section = {} if shape is NoConfig else writer.section(shape)
        for key, schema in section.get("properties", {}).items():
            old = tpu["properties"].get(key)
            said = schema | _origin(plugins, {"cloud"}, name)
            tpu["properties"][key] = _either(old, said) if old else said
        yield from _needed_if(("tpu", "cloud"), name, "tpu", section.get("required", ()))


def _origin(plugins: Plugins, kinds: Iterable[str], name: str) -> Schema:
    """Say which distribution brings a section, where that is not the core's."""
    brought = {(row.kind, row.name): row.distribution for row in plugins.rows()}
    for kind in kinds:
        found = brought.get((kind, name)) or KNOWN_DISTRIBUTIONS.get((kind, name))
        if found and found != BUILTIN:
            return {"$comment": found}
    return {}


def _needed_if(path: tuple[str, str], value: str, name: str, keys: Sequence[str]) -> list[Schema]:
    """Need keys of a section where a key of another has a value."""
    if not keys:
        return []
    section, key = path
    chosen = {"properties": {key: {"const": value}}, "required": [key]}
    return [
        {
            "if": {"properties": {section: chosen}, "required": [section]},
            "then": {
                "properties": {name: {"type": "object", "required": [*keys]}},
                "required": [name],
            },
        }
    ]


def _object(keys: Schema, *, required: Sequence[str] = (), others: Schema | bool = False) -> Schema:
    schema: Schema = {"type": "object", "properties": keys, "additionalProperties": others}
    return schema | ({"required": [*required]} if required else {})


def _either(*schemas: Schema) -> Schema:
    """Allow what any of some schemas allows, each once; what is said is said of the first."""
    flat: list[Schema] = []
    for schema in schemas:
        whole = {key: value for key, value in schema.items() if key not in _ABOUT}
        inner = whole["anyOf"] if list(whole) == ["anyOf"] else [whole]
        flat += [each for each in inner if each not in flat]
    return _about(schemas[0]) | ({"anyOf": flat} if len(flat) > 1 else flat[0])


def _nullable(schema: Schema) -> Schema:
    """Allow nothing as well; lists and maps stay what they are, so that a fault has its place."""
    kind = schema.get("type")
    if kind in ("object", "array"):
        return schema | {"type": [kind, "null"]}
    return schema if isinstance(kind, list) and "null" in kind else _either(schema, _NULL)


#: What a schema says about a value, and not of what it may be.
_ABOUT: Final = ("description", "default", "$comment")


def _about(schema: Schema) -> Schema:
    return {key: schema[key] for key in _ABOUT if key in schema}


class _Writer:
    """Turns the annotations of one file's classes into schemas."""

    def __init__(self, *, interpolates: bool = False) -> None:
        """Begin; ``interpolates``: any scalar may be given by another key."""
        self.defs: dict[str, Schema] = {}
        self._interpolates = interpolates

    def section(self, cls: type) -> Schema:
        """Describe a map with the keys of a class."""
        hints, texts = typing.get_type_hints(cls), texts_of(cls)
        keys: dict[str, Schema] = {}
        required: list[str] = []
        for field in attrs.fields(cls):
            schema, default = self.of(hints[field.name]), _default(field, hints[field.name])
            if field.default is attrs.NOTHING:
                required.append(field.name)
            else:
                # A key without a value counts as not written.
                schema = _nullable(schema)
            about = {"description": texts.get(field.name), "default": default}
            keys[field.name] = schema | {
                key: value for key, value in about.items() if value not in (None, "")
            }
        summary = summary_of(cls)
        return _object(keys, required=required) | ({"description": summary} if summary else {})

    def of(self, hint: Any) -> Schema:  # noqa: ANN401 - all that can stand in an annotation
        """Describe the values of an annotation."""
        if hint is Any:
            return {}
        if hint in COMPOUND:
            return _either(*COMPOUND[hint](self))
        if hint in KINDS:
            return self._kind(KINDS[hint])
        if isinstance(hint, typing.NewType):
            return self.of(hint.__supertype__)
        if isinstance(hint, type) and attrs.has(hint):
            return self.section(hint)
        return self._of_parts(hint)

    def _of_parts(self, hint: Any) -> Schema:  # noqa: ANN401 - the same
        args = typing.get_args(hint)
        if typing.get_origin(hint) in (Union, types.UnionType):
            some = _either(*(self.of(each) for each in args if each is not type(None)))
            return _nullable(some) if type(None) in args else some
        if typing.get_origin(hint) is typing.Literal:
            return self._choice(args)
        if is_sequence(hint):
            return {"type": "array", "items": self.of((*args, Any)[0])}
        if is_mapping(hint):
            key, item = args or (str, Any)
            names = {} if key is str else {"propertyNames": self.of(key)}
            values = VALUE if item is str else self.of(item)
            return {"type": "object", **names, "additionalProperties": values}
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return self._choice([member.value for member in hint])
        # Text that a class of its own makes sense of.
        return self._kind(KINDS[str])

    def _choice(self, words: Sequence[object]) -> Schema:
        return self._scalar({"enum": [str(word) for word in words]})

    def _kind(self, kind: Kind) -> Schema:
        self.defs[kind.name] = {"title": kind.title, **kind.schema}
        reference = {"$ref": f"#/$defs/{kind.name}"}
        return reference if kind.any_text else self._scalar(reference)

    def _scalar(self, schema: Schema) -> Schema:
        if not self._interpolates:
            return schema
        self.defs["interpolated"] = {
            "title": "`${section.key}` or `${oc.env:NAME}`",
            **INTERPOLATED,
        }
        return _either(schema, {"$ref": "#/$defs/interpolated"})


def _default(field: "attrs.Attribute[Any]", hint: object) -> object:
    """Give what a key is without being written, as a file says it; None: nothing that is of use."""
    value = field.default
    if value is attrs.NOTHING or (not value and value not in (0, False)):
        return None
    if isinstance(value, Loop):
        return {Loop.RECOVER: True, Loop.NEVER: False}.get(value, value.value)
    if hint is Duration:
        return _span(value)
    return None if hasattr(value, "factory") else _written(sections.to_plain(value))


def _written(value: object) -> object:
    if not isinstance(value, (list, tuple)):
        return value
    return [str(item) if isinstance(item, enum.Enum) else item for item in value]


def _span(seconds: float) -> str:
    """Write a duration in the largest unit that it is a whole number of."""
    unit = next((unit for unit in ("d", "h", "m") if seconds % values.UNITS[unit] == 0), "s")
    return f"{seconds / values.UNITS[unit]:g}{unit}"


def _prefixes(writer: _Writer) -> Iterator[Schema]:
    script = writer.of(sections.Script)
    yield script
    yield {"type": "array", "items": _either(script, writer.section(sections.PrefixSection))}


def _reap_places(writer: _Writer) -> Iterator[Schema]:
    place = _either(writer.of(sections.ZoneName), writer.section(sections.ReapPlaceSection))
    yield {"type": "array", "items": place}


def _one_of(*hints: object) -> Callable[[_Writer], Iterator[Schema]]:
    return lambda writer: map(writer.of, hints)


#: What is read as one of several things.
COMPOUND: Final[Mapping[Any, Callable[[_Writer], Iterator[Schema]]]] = {
    sections.Prefixes: _prefixes,
    sections.ReapPlaces: _reap_places,
    sections.Price: _one_of(sections.Amount, sections.PriceSection),
    sections.PlacePrice: _one_of(sections.Amount, sections.PlacePriceSection),
    sections.RepoEntry: _one_of(sections.GitName, sections.RepoSection),
    NotifyRule: _one_of(Audience, sections.NotifySection),
}


def schema_of(file: str, around: Surroundings) -> Schema:
    """Describe a kind of file: ``job``, ``tasks`` or ``settings``.

    Raises:
        InvalidInputError: there is no such kind.
    """
    match file:
        case "job":
            return job_schema(around)
        case "tasks":
            return tasks_schema()
        case "settings":
            return settings_schema(around.plugins)
    msg = f"no schema is called {file!r}: {instead(file, ['job', 'tasks', 'settings'])}"
    raise InvalidInputError(msg)
