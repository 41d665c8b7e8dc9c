"""An environment.yml, as hosts can make an environment of it.

The format is conda's: https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/
manage-environments.html#creating-an-environment-file-manually. What is no fault here is left to
conda to judge.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

_PACKAGE: Final = re.compile(r"(?:[^\s:]+::)?([A-Za-z0-9_][A-Za-z0-9_.-]*)")
#: They would say where the environment is.
_PLACES: Final = re.compile(rb"^(?:name|prefix):.*\n?", re.MULTILINE)
_ARCHIVES: Final = (".whl", ".zip", ".tar.gz")


@attrs.frozen
class Definition:
    """What an environment.yml asks for, and what is wrong with it."""

    #: As it is written, but for its own ``name`` and ``prefix``.
    content: bytes = attrs.field(default=b"", repr=False)
    #: The packages of conda that it asks for.
    names: tuple[str, ...] = ()
    #: A line each; such a file is of no use to a host.
    faults: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: Path) -> "Definition":
        """Read a file."""
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError

        try:
            content = path.read_bytes()
            tree = YAML(typ="safe", pure=True).load(content)
        except OSError as error:
            return cls(faults=(f"{path} cannot be read: {error.strerror}: correct the name",))
        except (YAMLError, UnicodeDecodeError, ValueError) as error:
            reason = str(error).strip().splitlines()[0]
            return cls(faults=(f"{path} is no YAML: {reason}: correct it",))
        wanted = tree.get("dependencies") if isinstance(tree, Mapping) else None
        if not isinstance(wanted, list):
            return cls(faults=(f"{path} has no list `dependencies:`: write one, as conda does",))
        packages = [item for item in wanted if isinstance(item, str)]
        names = [match[1].lower() for item in packages if (match := _PACKAGE.match(item.strip()))]
        return cls(_PLACES.sub(b"", content), tuple(names), tuple(_of_pip(path, wanted)))


def _of_pip(path: Path, wanted: list[Any]) -> Iterator[str]:
    """Find what pip would be told that is a file of this machine."""
    for part in wanted:
        lines = part.get("pip") if isinstance(part, Mapping) else None
        for line in lines if isinstance(lines, list) else ():
            text = str(line).strip()
            if text.startswith(("-r", "--requirement", "-c", "--constraint")):
                yield f"{path}: pip: {text!r}: hosts have no such file: write its lines here"
            elif _is_local(text):
                yield (
                    f"{path}: pip: {text!r} is of this machine: hosts have no such file: install "
                    "it in the task itself, once its code is checked out"
                )


def _is_local(text: str) -> bool:
    target = re.sub(r"^(-e|--editable)[=\s]\s*", "", text)
    if target.startswith(("/", "-")) or "://" in target or "@" in target:
        return False
    bare = re.sub(r"\[[^\]]*\]$", "", target.partition(";")[0].strip())
    return target != text or "/" in bare or bare.startswith(".") or bare.endswith(_ARCHIVES)
