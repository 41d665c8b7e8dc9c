"""A tasks file that is edited, damaged and moved about while workers take its tasks."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.lab import Lab

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

HEAD = """\
# What we run this week. Ask ada before you touch it.
accelerators:
  v4-8:   # one host
    tasks:
"""


def _entry(task: str, more: str = "") -> str:
    """Write a task that waits for a file of its name beside the tasks file."""
    return (
        f"      - id: {task}   # {task} is dear to us\n"
        f"        run: |\n"
        f"          echo {task} begins; until [ -e $GO/{task} ]; do sleep 0.1; done\n" + more
    )


def _save(lab: Lab, *entries: str) -> str:
    text = (HEAD + "".join(entries)).replace("$GO", str(lab.root / "go"))
    lab.write("tasks.yaml", text)
    return text


def _start(lab: Lab, *entries: str) -> str:
    (lab.root / "go").mkdir()
    _save(lab, *entries)
    return lab.create(lab.job("worker", queue="tasks.yaml", loop="true"))


def _go(lab: Lab, *tasks: str) -> None:
    for task in tasks:
        (lab.root / "go" / task).touch()


def _statuses(lab: Lab) -> dict[str, str]:
    return {task["id"]: task["status"] for task in lab.json("queue", "tasks.yaml")["tasks"]}


def _until(lab: Lab, **wanted: str) -> None:
    lab.until(str(wanted), lambda: wanted.items() <= _statuses(lab).items() or None, limit=60)


def _broken_off(path: Path) -> None:
    path.write_text(
        path.read_text() + "      - id: half\n        run: |\n          echo\n      - i"
    )


def _dangling(path: Path) -> None:
    path.rename(path.with_name("kept.yaml"))
    path.symlink_to(path.with_name("nowhere.yaml"))


def _folder(path: Path) -> None:
    path.rename(path.with_name("kept.yaml"))
    path.mkdir()


#: What befalls the file, and what is said of it.
HARM: dict[str, tuple[Callable[[Path], object], str]] = {
    "half saved": (_broken_off, "tasks.yaml:"),
    "emptied": (lambda path: path.write_text(""), "tasks.yaml"),
    "no text": (lambda path: path.write_bytes(b"\xff\xfe\x00" * 99), "tasks.yaml"),
    "renamed": (lambda path: path.rename(path.with_name("kept.yaml")), "is missing: put it back"),
    "a link to nothing": (_dangling, "is missing: put it back"),
    "a folder in its place": (_folder, "cannot be read"),
}


def test_workers_go_on_with_the_last_good_version_and_all_can_see_why(lab: Lab) -> None:
    tasks = lab.root / "tasks.yaml"
    _start(lab, _entry("a"), _entry("b"), _entry("c"))
    _until(lab, a="RUNNING")
    good = tasks.read_bytes()
    for what, (strike, said) in HARM.items():
        strike(tasks)
        seen = lab.run("queue", "tasks.yaml", "--json")
        assert said in seen.err, (what, seen.err)
        assert "its last good version" in seen.err
        assert '"id": "b"' in seen.out
        listed = lab.run("list", "--json")
        assert said in listed.err, (what, listed.err)
        if tasks.is_dir() and not tasks.is_symlink():
            tasks.rmdir()
        # As editors do: a new file that takes the place of the old one.
        fresh = lab.root / "tasks.yaml.new"
        fresh.write_bytes(good)
        fresh.replace(tasks)
        lab.until("it is well", lambda: "warning" not in lab.run("queue", "tasks.yaml").err)
    HARM["renamed"][0](tasks)
    _go(lab, "a")
    # A worker needs the file for nothing but news.
    lab.until("b begins", lambda: lab.run("list").out.count("task b"))
    assert "is missing" in lab.run("list").err
    tasks.with_name("kept.yaml").rename(tasks)
    _go(lab, "b", "c")
    _until(lab, a="DONE", b="DONE", c="DONE")
    assert "warning" not in lab.run("list").err
    assert {len(lab.task(task)["attempts"]) for task in "abc"} == {1}


def test_tasks_come_and_go_and_change_while_one_runs(lab: Lab) -> None:
    _start(lab, _entry("a"), _entry("b"))
    _until(lab, a="RUNNING")
    # Removed while it runs, with another before the rest, and a worker's own task changed.
    text = _save(lab, _entry("new"), _entry("b"))
    lab.until(
        "a is shown as removed",
        lambda: [
            t["reason"] for t in lab.json("queue")["tasks"] if "removed" in (t["reason"] or "")
        ],
    )
    assert _statuses(lab) == {"new": "PENDING", "b": "PENDING", "a": "RUNNING"}
    _go(lab, "a")
    _until(lab, new="RUNNING")
    assert "a" not in _statuses(lab)
    assert "a begins" in lab.run("logs", "1", "--run", "1").out
    # Back again it has its history, and what it came to.
    text = _save(lab, _entry("a"), _entry("b", "        depends_on: new\n"), _entry("new"))
    lab.until("a is back", lambda: "a" in _statuses(lab))
    assert _statuses(lab) == {"a": "DONE", "b": "WAITING", "new": "RUNNING"}
    lab.run("queue", "--reset", "a", "--prioritize", "b", code=2)
    lab.run("queue", "--reset", "a")
    lab.run("queue", "--prioritize", "b")
    lab.run("queue", "--done", "b")
    _go(lab, "new")
    _until(lab, a="DONE", b="DONE", new="DONE")
    assert [attempt["number"] for attempt in lab.task("a")["attempts"]] == [1, 2]
    # No command changes one byte of what a person wrote.
    assert (lab.root / "tasks.yaml").read_text() == text


def test_settings_that_change_count_from_then_on(lab: Lab) -> None:
    fails = "      - {id: f, run: 'exit 3', max_retries: 9, depends_on: gate}\n"
    _start(lab, _entry("gate"), fails, "      - {id: t, run: 'true', zone: elsewhere}\n")
    _until(lab, gate="RUNNING")
    tasks = lab.root / "tasks.yaml"
    # Two that wait for each other: refused, and what was good stays in force.
    text = tasks.read_text()
    tasks.write_text(text.replace("id: gate ", "id: gate\n        depends_on: f\n        #"))
    lab.until("it is told", lambda: "tasks.yaml:" in lab.run("queue").err)
    assert "cycle" in lab.run("queue").err or "each other" in lab.run("queue").err
    tasks.write_text(text)
    _go(lab, "gate")
    lab.until("it failed twice", lambda: lab.task("f")["fail_count"] >= 2)
    tasks.write_text(text.replace("max_retries: 9", "max_retries: 2"))
    _until(lab, f="FAILED")
    # A zone that fits a worker lets it have the task; a kind of slice that nobody has, none.
    tasks.write_text(text.replace("elsewhere", "here").replace("max_retries: 9", "max_retries: 2"))
    _until(lab, t="DONE", f="FAILED")
    count = lab.task("f")["fail_count"]
    tasks.write_text(
        text.replace("max_retries: 9", f"max_retries: {count + 1}").replace("elsewhere", "here")
    )
    lab.until("once more", lambda: lab.task("f")["fail_count"] == count + 1)
    _until(lab, f="FAILED")
