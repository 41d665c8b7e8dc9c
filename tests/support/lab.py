"""A home to use jobman in as a person does: by its command, with real processes."""

import asyncio
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import attrs

from jobman_core.app import App
from jobman_core.home import Home

_T = TypeVar("_T")


@attrs.frozen
class Said:
    """What a command printed, and what it ended with."""

    code: int
    out: str
    err: str


class Lab:
    """A home below a folder of its own."""

    #: What its job files say of where slices come from, unless told otherwise.
    cloud = "local"
    zone = "here"
    #: Further sections of its job files.
    sections = ""
    #: Seconds that something may take.
    patience = 40.0
    #: Whose jobman it is.
    python = sys.executable

    def __init__(self, root: Path, *, session: str = "process") -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.env = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("JOBMAN", "TMUX"))},
            "JOBMAN_HOME": str(root),
            "USER": "ada",
            "HOME": str(root / "person"),
            "NO_COLOR": "1",
        }
        (root / "person").mkdir()
        #: What is in the arguments or the environment of the processes of this home, and no others.
        self.marks = [str(root)]
        self.write("jobman.yaml", f"session: {session}\n")

    @property
    def command(self) -> list[str]:
        """What runs ``jobman``."""
        return [self.python, "-m", "jobman_cli"]

    def write(self, name: str, text: str) -> Path:
        """Write a file below the home."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def run(self, *args: str | Path, code: int | None = 0, limit: float = 60) -> Said:
        """Run ``jobman`` and check what it ends with (None: whatever)."""
        done = subprocess.run(
            [*self.command, *map(str, args)],
            env=self.env,
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
        )
        said = Said(done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in said.err, said.err
        assert code is None or said.code == code, f"{args}: {said}"
        return said

    def start(self, *args: str | Path) -> subprocess.Popen[str]:
        """Start ``jobman`` and leave it running."""
        return subprocess.Popen(
            [*self.command, *map(str, args)],
            env=self.env,
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def json(self, *args: str | Path, code: int | None = 0) -> Any:
        """Run a command with ``--json`` and give its document."""
        return json.loads(self.run(*args, "--json", code=code).out)

    def job(
        self,
        name: str = "job",
        *,
        cmd: str | None = "true",
        loop: str = "false",
        accelerator: str = "v4-8",
        zone: str = "",
        queue: str | None = None,
        extra: str = "",
        tpu: str = "",
    ) -> Path:
        """Write a job file."""
        lines = ["job:", f"  name: {name}", f"  loop: {loop}"]
        if queue:
            lines += ["  queue:", "    enabled: true", f"    config: {queue}"]
        lines += textwrap.indent(textwrap.dedent(extra), "  ").splitlines()
        lines += ["tpu:", f"  cloud: {self.cloud}", f"  accelerator: {accelerator}"]
        lines += [f"  zone: {zone or self.zone}"]
        lines += textwrap.indent(textwrap.dedent(tpu), "  ").splitlines()
        if cmd is not None and not queue:
            script = textwrap.indent(textwrap.dedent(cmd).strip("\n"), "    ")
            lines += ["command:", "  cmd: |", script]
        lines += self.sections.splitlines()
        return self.write(f"{name}.yaml", "\n".join(lines) + "\n")

    def create(self, config: str | Path, *more: str) -> str:
        """Create a job, and give its id."""
        return self.run("create", config, *more).out.split()[0]

    def status(self, job: str) -> str:
        """Give a job's status."""
        return str(self.json("show", job)["status"])

    def task(self, task: str, queue: str = "tasks.yaml") -> Any:
        """Give a task, with its attempts."""
        return self.json("queue", queue, "--task", task)

    def until(self, what: str, look: Callable[[], _T | None], limit: float | None = None) -> _T:
        """Look again and again until something is so, and give it."""
        limit = limit or self.patience
        deadline = time.monotonic() + limit
        while not (seen := look()):
            assert time.monotonic() < deadline, f"in vain for {limit} s: {what}\n{self.story()}"
            time.sleep(0.1)
        return seen

    def until_status(self, job: str, *statuses: str, limit: float | None = None) -> str:
        """Wait for a job's status."""
        return self.until(
            f"job {job} {statuses}",
            lambda: s if (s := self.status(job)) in statuses else "",
            limit,
        )

    def until_output(self, path: str, text: str) -> Path:
        """Wait for a text in a file below the home; the path may be a pattern."""

        def look() -> Path | None:
            for found in self.root.glob(path):
                if text in found.read_text(encoding="utf-8", errors="replace"):
                    return found
            return None

        return self.until(f"{text!r} in {path}", look)

    def act(self, action: Callable[[App], Awaitable[_T]]) -> _T:
        """Do something with the facade, as the person of this home."""

        async def inside() -> _T:
            async with App(Home(self.root), user="ada") as app:
                return await action(app)

        return asyncio.run(inside())

    def preempt(self, job: str) -> None:
        """Let the cloud take a job's slice away."""
        self.act(lambda app: app.preempt(job))

    def controller(self, job: str) -> int:
        """Give the process that drives a job."""
        with sqlite3.connect(self.root / "jobs/.jobman/jobman.db") as db:
            row = db.execute(
                "SELECT pid FROM controllers JOIN leases ON controller = controllers.id"
                " WHERE job = ?",
                [int(job)],
            ).fetchone()
        db.close()
        assert row, f"job {job} has no controller"
        return int(row[0])

    def kill_controller(self, job: str, number: int = signal.SIGKILL) -> int:
        """Signal the process that drives a job."""
        pid = self.controller(job)
        os.kill(pid, number)
        return pid

    def story(self, most: int = 3000) -> str:
        """Give the end of what the controllers said, for a failing test's reader."""
        logs = sorted(self.root.glob("jobs/*/*/logs/job.log"))
        return "\n".join(f"== {p}\n{p.read_text(errors='replace')[-most:]}" for p in logs)

    def processes(self) -> list[str]:
        """List the processes that belong to this home."""
        marks, found = [mark.encode() for mark in self.marks], []
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit() or int(folder.name) == os.getpid():
                continue
            try:
                told = (folder / "cmdline").read_bytes(), (folder / "environ").read_bytes()
            except OSError:
                continue
            if any(mark in text for mark in marks for text in told):
                found.append(f"{folder.name}: {told[0]!r}")
        return found

    def stopped(self) -> list[str]:
        """List those of them that a signal halts (state T, proc(5))."""
        found = []
        for process in self.processes():
            with contextlib.suppress(OSError):
                stat = Path(f"/proc/{process.split(':')[0]}/stat").read_text(encoding="utf-8")
                if stat.rpartition(")")[2].split()[0] == "T":
                    found.append(process)
        return found

    def slices(self) -> list[str]:
        """List the slices that exist in this home."""
        return [p.parent.name for p in self.root.glob("jobs/.jobman/local/*/slice.json")]

    def close(self) -> None:
        """Delete every job; nothing may be left of any of them."""
        if not (self.root / "jobs/.jobman").exists():
            return
        jobs = [job["id"] for job in self.json("list")]
        if jobs:
            self.run("delete", "--yes", *jobs)
        self.until("nothing runs", lambda: not self.processes(), self.patience)
        assert self.slices() == []
