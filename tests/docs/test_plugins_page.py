"""``docs/plugins.md`` shows the example as it is, and tells of every hook, kind and suite."""

import importlib
import inspect
import re
import tomllib
from pathlib import Path

import pytest

from jobman_core import hookspecs, interfaces
from jobman_core.plugins import KINDS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/plugins.md").read_text("utf-8")
EXAMPLE = ROOT / "examples/plugins/jobman-example-env"


def blocks(language: str) -> list[str]:
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", PAGE)


@pytest.mark.parametrize(
    ("block", "file"),
    [(0, "src/jobman_example_env/__init__.py"), (1, "tests/test_toolbox.py")],
)
def test_the_code_on_the_page_is_that_of_the_example(block: int, file: str) -> None:
    assert blocks("python")[block] == (EXAMPLE / file).read_text("utf-8")


def test_the_package_on_the_page_is_that_of_the_example() -> None:
    (shown,) = (tomllib.loads(text)["project"] for text in blocks("toml"))
    real = tomllib.loads((EXAMPLE / "pyproject.toml").read_text("utf-8"))["project"]
    assert shown.items() <= real.items()


def test_every_hook_is_told_of_with_its_arguments() -> None:
    for name, hook in vars(hookspecs).items():
        if name.startswith("jobman_"):
            arguments = ", ".join(inspect.signature(hook).parameters)
            assert f"`{name}({arguments})`" in PAGE or (not arguments and f"`{name}`" in PAGE), name


def test_every_kind_has_a_line_with_all_that_must_be_written_for_it() -> None:
    rows = {row.split("|")[1].strip(): row for row in PAGE.splitlines() if row.startswith("| ")}
    for kind, hook in KINDS.items():
        assert f"`{hook}`" in rows[kind]
        module = importlib.import_module(f"{interfaces.__name__}.{kind}")
        cls = getattr(module, "HostProblem" if kind == "problem" else kind.capitalize())
        assert f"`{kind}.{cls.__name__}`" in rows[kind]
        if kind != "store":
            for method in getattr(cls, "__abstractmethods__", ()):
                assert f"`{method}`" in rows[kind], (kind, method)


def test_every_suite_on_the_page_is_there() -> None:
    found = re.findall(r"`(\w+_contract)\.(\w+)`", PAGE)
    assert len(found) >= 7
    for module, name in found:
        suite = getattr(importlib.import_module(f"jobman_core.testing.{module}"), name)
        assert isinstance(suite, type)
