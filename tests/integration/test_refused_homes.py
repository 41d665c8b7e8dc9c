"""Homes that no command may work in: another machine's, or a newer jobman's."""

import contextlib
import json
import sqlite3

import pytest
from tests.support.lab import Lab

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

COMMANDS: list[tuple[str, ...]] = [
    ("list",),
    ("show", "1"),
    ("logs", "1"),
    ("logs", "1", "--controller"),
    ("attach", "1"),
    ("queue",),
    ("queue", "--cleanup"),
    ("queue", "--reset-all", "--yes"),
    ("create", "worker.yaml"),
    ("run", "1"),
    ("resume", "1"),
    ("resume", "--all"),
    ("stop", "1"),
    ("reboot", "1"),
    ("requeue", "1"),
    ("cancel", "1"),
    ("delete", "--yes", "1"),
    ("clean", "--yes", "1"),
]


@pytest.fixture
def idle(lab: Lab) -> Lab:
    """Give a home with a worker that was never started."""
    lab.write("tasks.yaml", "accelerators:\n  v4-8:\n    tasks:\n      - {id: a, run: 'true'}\n")
    lab.create(lab.job("worker", queue="tasks.yaml"), "--no-start")
    return lab


def _refused(lab: Lab, code: int, *words: str) -> None:
    for command in COMMANDS:
        said = lab.run(*command, code=code)
        assert said.out == "", (command, said)
        (line,) = said.err.splitlines()
        assert line.startswith("error: "), (command, said)
        assert all(word in line for word in words), (command, said)
    # These need no home.
    lab.run("validate", "worker.yaml", "tasks.yaml")
    lab.run("plugins")


def test_a_second_machine_is_refused_with_the_reason(idle: Lab) -> None:
    bond = idle.root / "jobs/.jobman/machine.json"
    ours = bond.read_text()
    bond.write_text(json.dumps({"machine": "another", "name": "login2"}))
    _refused(idle, 4, "belongs to another machine (login2)", "run jobman there", str(bond))
    bond.write_text(ours)
    assert idle.status("1") == "DEAD"


def test_a_newer_schema_is_refused_and_left_unharmed(idle: Lab) -> None:
    path = idle.root / "jobs/.jobman/jobman.db"

    def schema(version: int) -> None:
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute(f"PRAGMA user_version = {version}")

    with contextlib.closing(sqlite3.connect(path)) as db:
        (ours,) = db.execute("PRAGMA user_version").fetchone()
    schema(99)
    before = path.read_bytes()
    _refused(idle, 1, "made by a newer jobman (schema 99", "upgrade jobman")
    assert path.read_bytes() == before
    schema(ours)
    assert idle.status("1") == "DEAD"
