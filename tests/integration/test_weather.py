"""Disks that fill up or turn read-only, and databases that go bad, under workers that run."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import pytest
from tests.support.lab import Lab

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.timeout(180)]


def _mount(*args: str | Path) -> None:
    subprocess.run(["mount", *map(str, args)], check=True)


@attrs.frozen
class Disk:
    """A small file system of its own, below which a home lies."""

    root: Path

    @contextlib.contextmanager
    def full(self) -> Iterator[None]:
        """Let no byte more be written, for the length of a block."""
        ballast = self.root / "ballast"
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            size = 1 << 16
            while True:
                try:
                    file.write(b"x" * size)
                except OSError:
                    if size == 1:
                        raise
                    size //= 16
        yield
        ballast.unlink()

    @contextlib.contextmanager
    def read_only(self) -> Iterator[None]:
        """Let nothing be opened to write any more, for the length of a block."""
        _mount("--rbind", self.root, self.root)
        _mount("-o", "remount,bind,ro", self.root)
        try:
            yield
        finally:
            subprocess.run(["umount", "--recursive", "--lazy", str(self.root)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    root = tmp_path / "disk"
    root.mkdir()
    _mount("-t", "tmpfs", "-o", "size=6m,mode=755", "weather", root)
    try:
        yield Disk(root)
    finally:
        subprocess.run(["umount", "--lazy", str(root)], check=True)


@pytest.fixture
def lab(disk: Disk) -> Iterator[Lab]:
    """Give a home on the small disk; its hosts have a disk of their own, as hosts do."""
    lab = Lab(disk.root / "lab")
    hosts = lab.root / "jobs/.jobman/local"
    hosts.mkdir(parents=True)
    _mount("-t", "tmpfs", "-o", "size=20m,mode=755", "hosts", hosts)
    try:
        yield lab
        lab.close()
    finally:
        subprocess.run(["umount", "--lazy", str(hosts)], check=True)


#: Runs until a file of that name appears on its host, and tells how often it ran.
WAITS = (
    'echo ran >> "$HOME/{0}-ran"; until [ -e "$HOME/{0}-go" ]; do sleep 0.1; done; echo {0} ends'
)


def _host(lab: Lab, job: str) -> Path:
    (found,) = lab.root.glob(f"jobs/.jobman/local/*{job}*/hosts/0")
    return found


def _running(lab: Lab, *, queue: bool) -> str:
    """Start a job, or a worker with a task ``a``; return when its program runs."""
    if queue:
        tasks = "\n".join(
            f"      - id: {task}\n        run: '{WAITS.format(task)}'" for task in ("a", "b")
        )
        lab.write("tasks.yaml", f"accelerators:\n  v4-8:\n    tasks:\n{tasks}\n")
        job = lab.create(lab.job("worker", queue="tasks.yaml", loop="true"))
    else:
        job = lab.create(lab.job(cmd=WAITS.format("a")))
    lab.until("it runs", lambda: list(lab.root.glob("jobs/.jobman/local/*/hosts/0/a-ran")))
    lab.until("it is on record", lambda: lab.json("show", job)["attempts"][0]["started"])
    return job


def _home_of_host(lab: Lab) -> Path:
    (found,) = lab.root.glob("jobs/.jobman/local/*/hosts/0")
    return found


def _let_go(lab: Lab, task: str) -> None:
    (_home_of_host(lab) / f"{task}-go").touch()


def _ran(lab: Lab, task: str) -> int:
    return len((_home_of_host(lab) / f"{task}-ran").read_text().split())


LOOKS: list[tuple[str, ...]] = [
    ("list",),
    ("list", "--all", "--json"),
    ("show", "1"),
    ("queue",),
    ("queue", "--task", "a"),
    ("logs", "1"),
    ("logs", "1", "--controller"),
    ("plugins",),
    ("validate", "worker.yaml", "tasks.yaml"),
]
ACTS: list[tuple[str, ...]] = [
    ("stop", "1"),
    ("cancel", "1"),
    ("delete", "--yes", "1"),
    ("reboot", "1"),
    ("requeue", "1"),
    ("create", "worker.yaml"),
    ("queue", "--reset", "b"),
    ("queue", "--prioritize", "b"),
    ("queue", "--done", "b"),
]


def _check_commands(lab: Lab, cause: str, *, acts: bool = True) -> None:
    for look in LOOKS:
        said = lab.run(*look, code=0, limit=20)
        if look[0] in ("list", "show", "queue"):
            assert cause in said.err, (look, said)
            assert "workers pause" in said.err, (look, said)
    for act in ACTS if acts else ():
        said = lab.run(*act, code=1, limit=20)
        errors = [line for line in said.err.splitlines() if line.startswith("error: ")]
        assert len(errors) == 1, (act, said)
        assert cause in errors[0], (act, said)


def test_on_a_full_disk_programs_run_on_and_workers_go_on_once_there_is_room(
    lab: Lab, disk: Disk
) -> None:
    job = _running(lab, queue=True)
    with disk.full():
        _check_commands(lab, "full")
        assert lab.status(job) == "RUNNING"
        _let_go(lab, "a")
        time.sleep(8)
        assert lab.json("list")[0]["status"] == "RUNNING"
    lab.until("a is done", lambda: lab.task("a")["status"] == "DONE")
    lab.until("b runs", lambda: lab.task("b")["status"] == "RUNNING")
    _let_go(lab, "b")
    lab.until("b is done", lambda: lab.task("b")["status"] == "DONE")
    assert (_ran(lab, "a"), _ran(lab, "b")) == (1, 1)
    assert [len(lab.task(task)["attempts"]) for task in "ab"] == [1, 1]
    lab.until_output("jobs/tasks/a/run_001_*_worker_0.log", "a ends")
    for task in "ab":
        lab.until_output(f"jobs/tasks/{task}/run_001_*_meta.yaml", 'outcome: "succeeded"')
    assert "warning" not in lab.run("list").err


def test_in_a_home_that_turns_read_only_all_can_be_seen_and_nothing_done(
    lab: Lab, disk: Disk
) -> None:
    job = _running(lab, queue=True)
    with disk.read_only():
        _check_commands(lab, "read-only")
        _let_go(lab, "a")
        time.sleep(3)
    lab.until("a is done", lambda: lab.task("a")["status"] == "DONE")
    lab.until("b runs", lambda: lab.task("b")["status"] == "RUNNING")
    lab.run("stop", job)
    assert (_ran(lab, "a"), _ran(lab, "b")) == (1, 1)
    assert [len(lab.task(task)["attempts"]) for task in "ab"] == [1, 1]
    lab.until_output("jobs/tasks/a/run_001_*_worker_0.log", "a ends")


@pytest.mark.parametrize("left", ["all files", "no shared memory", "one clean file"])
def test_a_home_nobody_works_in_can_be_looked_at_on_a_read_only_disk(
    lab: Lab, disk: Disk, left: str
) -> None:
    job = _running(lab, queue=True)
    lab.kill_controller(job)
    state = lab.root / "jobs/.jobman"
    if left == "one clean file":
        lab.run("list")
        assert not (state / "jobman.db-wal").exists()
    if left == "no shared memory":
        (state / "jobman.db-shm").unlink()
    lab.write("tasks.yaml", (lab.root / "tasks.yaml").read_text() + "# edited\n")
    with disk.read_only():
        _check_commands(lab, "read-only", acts=False)
        said = lab.json("queue", "--task", "a")
        assert [attempt["outcome"] for attempt in said["attempts"]] == [None]
        assert "cannot be taken in now" in lab.run("queue").err
        lab.run("resume", "--all", code=1)
    lab.run("resume", "--all")
    _let_go(lab, "a")
    lab.until("a is done", lambda: lab.task("a")["status"] == "DONE")
    assert _ran(lab, "a") == 1


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Lab]:
    """Give a home on the disk of this machine."""
    lab = Lab(tmp_path / "lab")
    yield lab
    lab.close()


def _copy(state: Path) -> Path:
    """Copy a database as SQLite says that one in use is to be copied."""
    copy = state / "copy.db"
    database = sqlite3.connect(state / "jobman.db")
    with (
        contextlib.closing(database) as source,
        contextlib.closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)
    return copy


def _put_back(state: Path) -> None:
    for name in ("jobman.db-wal", "jobman.db-shm"):
        (state / name).unlink(missing_ok=True)
    (state / "copy.db").rename(state / "jobman.db")


#: What befalls a database, and what the commands say of it meanwhile.
BLOWS: dict[str, tuple[Callable[[Path], object], str]] = {
    "overwritten": (
        lambda state: (state / "jobman.db").write_bytes(b"no database" * 9999),
        "damaged: put a copy of it back",
    ),
    "overwritten all": (
        lambda state: [
            path.write_bytes(b"no database" * 9999)
            for path in (state / "jobman.db", state / "jobman.db-wal")
        ],
        "damaged: put a copy of it back",
    ),
    "truncated": (
        lambda state: os.truncate(state / "jobman.db", 0),
        "is gone or empty: put a copy of it back",
    ),
    "deleted": (
        lambda state: [path.rename(state.parent / path.name) for path in state.glob("jobman.db*")],
        "is gone or empty: put a copy of it back",
    ),
}


@pytest.mark.parametrize("what", BLOWS)
def test_workers_wait_for_a_copy_of_a_database_that_went_bad(plain: Lab, what: str) -> None:
    lab, (strike, cause) = plain, BLOWS[what]
    job = _running(lab, queue=True)
    state = lab.root / "jobs/.jobman"
    _copy(state)
    strike(state)
    for command in (("list",), ("queue",), ("logs", "1"), ("stop", "1"), ("resume", "--all")):
        said = lab.run(*command, code=1, limit=20)
        assert cause in said.err, (command, said)
        assert len(said.err.splitlines()) == 1, (command, said)
    lab.until_output(f"jobs/ada/{job}/logs/job.log", str(state / "jobman.db"))
    _let_go(lab, "a")
    time.sleep(2)
    _put_back(state)
    lab.until("a is done", lambda: lab.task("a")["status"] == "DONE")
    lab.until("b runs", lambda: lab.task("b")["status"] == "RUNNING")
    assert (_ran(lab, "a"), _ran(lab, "b")) == (1, 1)
    assert [len(lab.task(task)["attempts"]) for task in "ab"] == [1, 1]
    lab.run("stop", job)


@pytest.mark.parametrize("names", [["jobman.db-wal"], ["jobman.db-wal", "jobman.db-shm"]])
def test_what_only_a_log_says_is_kept_when_that_is_removed_under_a_worker(
    plain: Lab, names: list[str]
) -> None:
    lab = plain
    job = _running(lab, queue=True)
    for name in names:
        (lab.root / "jobs/.jobman" / name).unlink()
    lab.until("there is a new log", (lab.root / "jobs/.jobman/jobman.db-wal").exists)
    lab.until("it is well", lambda: lab.run("list", code=None).code == 0)
    assert [a["outcome"] for a in lab.json("show", job)["attempts"]] == [None]
    _let_go(lab, "a")
    lab.until("a is done", lambda: lab.task("a")["status"] == "DONE")
    assert _ran(lab, "a") == 1
    lab.run("stop", job)
    with contextlib.closing(sqlite3.connect(lab.root / "jobs/.jobman/jobman.db")) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize("how", ["moved away and back", "replaced by a copy"])
def test_a_home_that_comes_back_is_worked_in_as_if_nothing_had_been(plain: Lab, how: str) -> None:
    lab = plain
    job = _running(lab, queue=True)
    jobs, away = lab.root / "jobs", lab.root / "away"
    hosts = jobs / ".jobman/local"
    # The hosts of a slice in a cloud lie elsewhere.
    aside = lab.root / "hosts"
    hosts.rename(aside)
    hosts.symlink_to(aside)
    jobs.rename(away)
    time.sleep(4)
    lab.run("list", code=None)
    assert not jobs.exists()
    if how == "replaced by a copy":
        shutil.copytree(away, jobs, symlinks=True)
    else:
        away.rename(jobs)
    _let_go(lab, "a")
    lab.until("a is done", lambda: lab.task("a")["status"] == "DONE")
    lab.until("b runs", lambda: lab.task("b")["status"] == "RUNNING")
    assert (_ran(lab, "a"), _ran(lab, "b")) == (1, 1)
    lab.until_output("jobs/tasks/a/run_001_*_worker_0.log", "a ends")
    lab.run("stop", job)


def test_a_database_that_another_process_keeps_locked_can_be_looked_at_at_once(plain: Lab) -> None:
    lab = plain
    lab.write("jobman.yaml", "session: process\nbeat: 1s\nlease: 5s\n")
    job = _running(lab, queue=True)
    code = (
        "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "db.execute('BEGIN EXCLUSIVE'); print('locked', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(lab.root / "jobs/.jobman/jobman.db")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        for look in (("list",), ("show", "1"), ("queue",)):
            # A third of what a writer waits, on a busy machine.
            lab.run(*look, limit=20)
        lab.until("it is told", lambda: "locked" in lab.run("list").err)
        # Long enough that whoever can beat has.
        time.sleep(5)
        (seen,) = lab.json("list")
        assert (seen["status"], seen["reason"]) == ("RUNNING", "task a")
        assert "workers pause" in lab.run("queue").err
        _let_go(lab, "a")
        holder.communicate(b"")
    lab.until("a is done", lambda: lab.task("a")["status"] == "DONE")
    assert len(lab.task("a")["attempts"]) == 1
    lab.run("stop", job)
