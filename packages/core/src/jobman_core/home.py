"""Where everything lies in a home folder; no other module spells these paths."""

import errno
import hashlib
import os
from pathlib import Path
from urllib.parse import quote

import attrs

from jobman_core.group import follow, is_shared

#: Characters that stay as they are when a task's id becomes part of a file name.
_PLAIN = "-_+=,. "
_LONGEST = 160
#: Below ``jobs``: by this folder a home is known.
_STATE = ".jobman"
#: Holds hidden tasks, so no task's own folder may be called that.
_HIDDEN = "hide"


def file_name(text: str) -> str:
    """Write any text as one file name: percent-encoded where it must be, never hidden.

    ``@`` begins the folders of a home's further queues; no text is written with a plain one.
    """
    plain = quote(text, safe=_PLAIN)
    if len(plain) > _LONGEST:
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        plain = f"{plain[:_LONGEST]}~{digest}"
    if plain.startswith(".") or plain == _HIDDEN:
        plain = f"%{ord(plain[0]):02X}{plain[1:]}"
    return plain


def make_inside(folder: Path, *, own: bool = False) -> None:
    """Make a folder below a home's ``jobs``; not those: moved away, they may come back.

    Args:
        folder: to be made, with what it lies in.
        own: a group that shares the home may look into it and no more.

    Raises:
        OSError: it cannot be made, or its home is not there.
    """
    if folder.is_dir():
        return
    if not any((above / _STATE).is_dir() for above in folder.parents):
        raise FileNotFoundError(errno.ENOENT, "its home is not there", str(folder))
    for path in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
        path.mkdir(exist_ok=True)
        follow(path, own=own and path == folder)


@attrs.frozen
class Home:
    """A home folder."""

    root: Path

    @property
    def state(self) -> Path:
        """What is the manager's own."""
        return self.root / "jobs" / _STATE

    @property
    def shared(self) -> bool:
        """Whether the accounts of a Unix group use it together.

        It is made for that by a folder that is setgid and writable by its group; later on its own
        folder says so.
        """
        return is_shared(self.state if os.path.lexists(self.state) else self.root)

    @property
    def notices_lock(self) -> Path:
        """Held by the process that delivers to notifiers."""
        return self.state / "notices.lock"

    @property
    def database(self) -> Path:
        """The built-in store."""
        return self.state / "jobman.db"

    @property
    def sessions(self) -> Path:
        """Which process each session is."""
        return self.state / "sessions"

    def lock(self, name: str) -> Path:
        """Give the lock of what one process alone does for a home."""
        return self.state / f"{name}.lock"

    @property
    def settings(self) -> Path:
        """The lab's settings."""
        return self.root / "jobman.yaml"

    def job(self, user: str, job: str) -> Path:
        """Give a job's folder."""
        return self.root / "jobs" / file_name(user) / job

    def config(self, user: str, job: str) -> Path:
        """Give the snapshot that a resume uses."""
        return self.job(user, job) / "config.yaml"

    def origin(self, user: str, job: str) -> Path:
        """Give what is known of the file that a job was created from."""
        return self.job(user, job) / "origin.json"

    def logs(self, user: str, job: str) -> Path:
        """Give a job's own logs."""
        return self.job(user, job) / "logs"

    def code(self, user: str, job: str) -> Path:
        """Give the folder of what was packed of a job's code."""
        return self.job(user, job) / "code"

    @property
    def task_code(self) -> Path:
        """The folder of what was packed of the code of tasks."""
        return self.state / "code"

    def run_code(self, run_id: str, what: str) -> Path:
        """Give the file that says which of them one run of a task has of a folder."""
        return self.task_code / f"run_{file_name(run_id)}_{what}"

    def seen_code(self, look: str) -> Path:
        """Give the file that says which of them a folder became that looks so."""
        return self.task_code / f"seen_{look}"

    def known_hosts(self, user: str, job: str, generation: int) -> Path:
        """Give the host keys of one generation of a job's slice."""
        return self.job(user, job) / "ssh" / f"known_hosts-g{generation}"

    def command_log(self, user: str, job: str, number: int, worker: int) -> Path:
        """Give the output of one host in one attempt of a job's command."""
        return self.logs(user, job) / f"command_run_{number:03d}_worker_{worker}.log"

    def step_log(self, user: str, job: str, step: str, worker: int) -> Path:
        """Give the output of one host in one step of preparing it."""
        return self.logs(user, job) / f"{step}_worker_{worker}.log"

    def task(self, folder: str, task: str, *, hidden: bool) -> Path:
        """Give a task's folder."""
        base = self.root / "jobs" / "tasks"
        if folder:
            base = base / folder
        if hidden:
            base = base / _HIDDEN
        return base / file_name(task)

    def task_log(self, folder: Path, number: int, job: str, worker: int) -> Path:
        """Give the output of one host in one attempt of a task, in the task's folder."""
        return folder / f"run_{number:03d}_job{job}_worker_{worker}.log"

    def task_meta(self, folder: Path, number: int, job: str) -> Path:
        """Give what is known of one attempt of a task, in the task's folder."""
        return folder / f"run_{number:03d}_job{job}_meta.yaml"


def find_home(given: Path | None, variable: str | None, cwd: Path) -> Path:
    """Give the home folder: ``--home``, else ``JOBMAN_HOME``, else the nearest one upward.

    Where there is none the current folder is it: ``create`` and ``queue`` make it there.
    """
    if given is not None:
        return given.absolute()
    if variable:
        return Path(os.path.expanduser(variable)).absolute()  # noqa: PTH111 - it raises
    for folder in (cwd, *cwd.parents):
        # One that this account may not look into is told of once it is used.
        if os.path.isdir(folder / "jobs" / _STATE):  # noqa: PTH112 - Path's own raises
            return folder
    return cwd
