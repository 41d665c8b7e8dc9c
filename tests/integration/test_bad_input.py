"""Bad input: one line a fault, exit 2, and no trace of it."""

import os
from pathlib import Path

import pytest
from tests.support.lab import Lab

pytestmark = pytest.mark.e2e

GOOD = """\
job:
  name: good
tpu:
  cloud: local
  accelerator: v4-32
command:
  cmd: echo hello
"""
TASKS = """\
accelerators:
  v4-8:
    tasks:
      - id: one
        run: echo one
"""
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)
)

JOBS = {
    "a missing key": (GOOD.replace("  accelerator: v4-32\n", ""), "accelerator"),
    "a misspelt key": (GOOD.replace("accelerator", "accelarator"), "did you mean 'accelerator'"),
    "a wrong type": (GOOD.replace("name: good", "name: [good]"), "job.name"),
    "tabs in YAML": (GOOD.replace("  name", "\tname"), ":2:"),
    "a duplicate key": (GOOD + "command:\n  cmd: again\n", "command"),
    "a YAML tag": (GOOD.replace("good", "!!python/object/apply:os.system [id]"), "tag"),
    "an alias bomb": (GOOD + BOMB, "the aliases in this file blow it up beyond reason"),
    "an unknown interpolation": (GOOD.replace("good", "${tpu.zune}"), "tpu.zune"),
    "an interpolation cycle": (
        GOOD.replace("good", "${tpu.name}").replace("local\n", "local\n  name: ${job.name}\n"),
        "->",
    ),
    "an unknown accelerator": (GOOD.replace("v4-32", "v9-32"), "v9-32"),
    "a host that the slice does not have": (GOOD + "  workers: [9]\n", "9"),
    "an empty file": ("", "empty"),
    "a backend that is not installed": (
        GOOD.replace("name: good", "name: good\n  session: zellij"),
        "zellij",
    ),
}


@pytest.mark.parametrize("what", JOBS)
def test_a_bad_job_file_gives_one_line_errors_and_leaves_no_trace(
    tmp_path: Path, what: str
) -> None:
    text, expected = JOBS[what]
    assert_refused(tmp_path, {"job.yaml": text}, expected)


def test_every_fault_of_a_file_is_told_at_once(tmp_path: Path) -> None:
    text = GOOD.replace("name: good", "nome: good").replace("v4-32", "v9-32") + "  wokers: 0\n"
    said = assert_refused(tmp_path, {"job.yaml": text}, "nome")
    assert [line.split(":")[1] for line in said] == ["2", "5", "8"], said


TASK_FILES = {
    "a duplicate task id": (TASKS + "      - {id: one, run: echo}\n", "one"),
    "a dependency that does not exist": (TASKS + "        depends_on: onee\n", "onee"),
    "a cycle": (
        TASKS + "        depends_on: two\n      - {id: two, run: x, depends_on: one}\n",
        "->",
    ),
    "a host that the slice does not have": (TASKS + "        workers: [9]\n", "9"),
    "an unknown accelerator": (TASKS.replace("v4-8", "v9-8"), "v9-8"),
    "a misspelt key": (TASKS + "        max_jbos: 2\n", "max_jobs"),
}


@pytest.mark.parametrize("what", TASK_FILES)
def test_a_bad_tasks_file_is_refused_by_create_and_by_queue(tmp_path: Path, what: str) -> None:
    text, expected = TASK_FILES[what]
    worker = (
        "job: {name: w, queue: {enabled: true, config: tasks.yaml}}\n"
        "tpu: {cloud: local, accelerator: v4-8}\n"
    )
    assert_refused(tmp_path, {"job.yaml": worker, "tasks.yaml": text}, expected)
    home = Lab(tmp_path / "second")
    home.write("tasks.yaml", text)
    assert expected in home.run("queue", "tasks.yaml", code=2).err
    assert not (home.root / "jobs").exists()


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    home = Lab(tmp_path)
    (tmp_path / "job.yaml").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00\xff\xfe")
    assert home.run("create", "job.yaml", code=2).err.count("\n") == 1
    assert not (tmp_path / "jobs").exists()


@pytest.mark.parametrize("kind", ["absent", "folder", "fifo"])
def test_a_file_that_cannot_be_read_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    home = Lab(tmp_path)
    path = tmp_path / "job.yaml"
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    said = home.run("create", path, code=2, limit=20)
    assert said.err.count("\n") == 1
    assert "job.yaml" in said.err
    assert not (tmp_path / "jobs").exists()


def assert_refused(folder: Path, files: dict[str, str], expected: str) -> list[str]:
    """Check that ``create job.yaml`` says so in lines, with exit 2, and that nothing is made."""
    home = Lab(folder)
    for name, text in files.items():
        home.write(name, text)
    before = sorted(folder.rglob("*"))
    said = home.run("create", "job.yaml", code=2, limit=20)
    assert said.out == ""
    lines = said.err.splitlines()
    assert expected in said.err, said.err
    assert all(line.startswith((str(folder), "job.yaml")) for line in lines), lines
    assert sorted(folder.rglob("*")) == before
    return lines
