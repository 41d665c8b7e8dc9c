"""Stands for conda, mamba and micromamba in tests: makes environments as they look on disk.

Knows the verbs that jobman uses. What there is to install are files ``NAME`` below the folder in
``CONDA_TEST_CHANNEL``, which have the version; ``CONDA_TEST_SAYS`` has it fail with that text. Each
package brings a program ``NAME-say``.
"""

import json
import os
import sys
from pathlib import Path
from typing import NoReturn

from ruamel.yaml import YAML


def fail(text: str) -> NoReturn:
    sys.exit(text)


def wanted(arguments: list[str]) -> list[str]:
    if "--file" not in arguments:
        return arguments
    file = Path(arguments[arguments.index("--file") + 1])
    if file.suffix != ".yml":
        fail(f"EnvironmentSpecNotFound: {file}")
    tree = YAML(typ="safe", pure=True).load(file.read_text())
    return [item for item in tree["dependencies"] if isinstance(item, str)]


def install(prefix: Path, name: str) -> None:
    known = Path(os.environ["CONDA_TEST_CHANNEL"], name)
    if not known.exists():
        fail(f"PackagesNotFoundError: The following packages are not available:\n  - {name}")
    version = known.read_text().strip()
    meta = prefix / "conda-meta" / f"{name}-{version}-0.json"
    meta.write_text(json.dumps({"name": name, "version": version}))
    program = prefix / "bin" / f"{name}-say"
    program.write_text(f"#!/bin/sh\necho {name} {version}\n")
    program.chmod(0o755)


def main(arguments: list[str]) -> None:
    if arguments == ["--version"]:
        sys.stdout.write("conda 24.1.0\n")
        return
    if os.environ.get("CONDA_TEST_SAYS"):
        fail(os.environ["CONDA_TEST_SAYS"])
    asked = os.environ.get("CONDA_ALWAYS_YES") != "true" and "--yes" not in arguments
    if asked or "create" not in arguments[:2]:
        fail(f"unexpected: {arguments}")
    at = arguments.index("--prefix")
    prefix = Path(arguments[at + 1])
    if prefix.exists():
        fail(f"CondaValueError: prefix already exists: {prefix}")
    for folder in ("conda-meta", "bin", "etc/conda/activate.d"):
        (prefix / folder).mkdir(parents=True)
    for item in wanted(arguments[at + 2 :]):
        install(prefix, item.rpartition("::")[2].split("=")[0].split(">")[0].strip())


main(sys.argv[1:])
