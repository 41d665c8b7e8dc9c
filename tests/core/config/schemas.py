"""What an editor says of a file, as far as the schema tells it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema

from jobman_core.config.nodes import to_data
from jobman_core.config.source import parse_source


def complaints(schema: Mapping[str, Any], text: str) -> list[str]:
    """Give what a schema finds wrong with a file, each with its place."""
    data = to_data(parse_source(text, Path("file.yaml")).root)
    errors = jsonschema.Draft202012Validator(schema).iter_errors(data)
    return [f"{error.json_path}: {error.message}" for error in errors]
