"""Every rule of ``docs/rules.md`` names tests, and every test that it names exists."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RULES = (ROOT / "docs/rules.md").read_text(encoding="utf-8")
#: What stands in code quotes and names a test: a file, and a name in it.
NAMED = re.compile(r"`(tests/[\w/]+\.py(?:::\w+)+)`")


def test_there_are_twelve_rules_and_each_names_its_tests() -> None:
    parts = re.split(r"(?m)^## ", RULES)[1:]
    assert [part.split(".")[0] for part in parts] == [str(n) for n in range(1, 13)]
    for part in parts:
        title = part.splitlines()[0]
        assert NAMED.search(part), f"rule {title!r} names no test"
        assert "Broken by: " in part, f"rule {title!r} does not say what breaks it"


@pytest.mark.e2e
def test_every_test_that_is_named_is_collected() -> None:
    ids = sorted(set(NAMED.findall(RULES)))
    said = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *ids],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    if said.returncode:
        pytest.fail(said.stdout + said.stderr)
    for name in ids:
        assert re.search(rf"(?m)^{re.escape(name)}(\[.*|::.*)?$", said.stdout), name
