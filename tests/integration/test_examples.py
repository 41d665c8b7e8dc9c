"""The example files do what they say."""

from pathlib import Path

import pytest
from tests.support.lab import Lab

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
def test_an_example_has_no_fault(lab: Lab, path: Path) -> None:
    assert lab.json("validate", path) == []


def test_the_examples_of_a_queue_run_to_their_end(lab: Lab) -> None:
    for name in ("tasks.yaml", "worker.yaml"):
        lab.write(name, (EXAMPLES / name).read_text())
    lab.run("create", "worker.yaml", "--count", "2")
    lab.until(
        "all tasks",
        lambda: {t["status"] for t in lab.json("queue", "tasks.yaml")["tasks"]} == {"DONE"},
    )
    assert lab.run("logs", "--task", "report").out == "all seeds are done\n"
