"""All keys that files may have, as a list for people, read off the schemas of the files."""

from collections.abc import Iterator
from typing import Any

import attrs

from jobman_core.config.kinds import Schema
from jobman_core.models.key import Key


def keys_of(schema: Schema) -> Iterator[Key]:
    """Give the keys of a file that a schema describes, each before those below it."""
    needed = {
        f"{name}.{key}"
        for rule in schema.get("allOf", ())
        for name, section in rule["then"]["properties"].items()
        for key in section["required"]
    }
    for key in _below(schema, "", None, schema["$defs"]):
        yield attrs.evolve(key, required=key.required or key.path in needed)


def _below(schema: Schema, path: str, plugin: str | None, defs: Schema) -> Iterator[Key]:
    for each in _alternatives(schema):
        required = each.get("required", ())
        for name, value in each.get("properties", {}).items():
            here = f"{path}.{name}" if path else name
            origin = value.get("$comment", plugin)
            if not _has_any_value(value):
                continue
            yield Key(
                path=here,
                type=_type(value, defs),
                default=value.get("default"),
                required=name in required,
                text=value.get("description", ""),
                plugin=origin,
            )
            yield from _below(value, here, origin, defs)
        for key, mark in (("additionalProperties", ".*"), ("items", "[]")):
            if isinstance(inner := each.get(key), dict):
                yield from _below(inner, path + mark, plugin, defs)


def _has_any_value(schema: Schema) -> bool:
    """Tell a section in which there is nothing to write from all else."""
    return bool(schema.get("properties", True) or schema["additionalProperties"])


def _alternatives(schema: Schema) -> list[Schema]:
    found: list[Schema] = schema.get("anyOf", [schema])
    return found


def _type(schema: Schema, defs: Schema) -> str:
    """Say in words what values may be; that they may be given by another key is not said."""
    words = [_word(each, defs) for each in _alternatives(schema)]
    return ", or ".join(dict.fromkeys(word for word in words if word))


def _word(schema: Schema, defs: Schema) -> str:
    if reference := schema.get("$ref"):
        name = str(reference).rpartition("/")[2]
        return "" if name == "interpolated" else str(defs[name]["title"])
    if choices := schema.get("enum"):
        return "one of " + ", ".join(f"`{choice}`" for choice in choices)
    kinds = schema.get("type")
    if isinstance(kinds, list) and "string" in kinds:
        return "text"
    match kinds[0] if isinstance(kinds, list) else kinds:
        case "array":
            return f"a list; each {_type(schema['items'], defs)}"
        case "object" if "properties" in schema:
            return "a section"
        case "object":
            inner: Any = schema["additionalProperties"]
            return f"a map; each {_type(inner, defs) or 'any value'}"
        case "null":
            return ""
        case _:
            return "any value"
