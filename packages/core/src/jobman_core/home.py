"""Where everything lies in a home folder; no other module spells these paths."""

import hashlib
from pathlib import Path
from urllib.parse import quote

import attrs

#: Characters that stay as they are when a task's id becomes part of a file name.
_PLAIN = "-_+=,. "
_LONGEST = 160
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


@attrs.frozen
class Home:
    """A home folder."""

    root: Path

    @property
    def state(self) -> Path:
        """What is the manager's own."""
        return self.root / "jobs" / ".jobman"

    @property
    def database(self) -> Path:
        """The built-in store."""
        return self.state / "jobman.db"

    @property
    def sessions(self) -> Path:
        """Which process each session is."""
        return self.state / "sessions"

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

    def logs(self, user: str, job: str) -> Path:
        """Give a job's own logs."""
        return self.job(user, job) / "logs"

    def command_log(self, user: str, job: str, number: int, worker: int) -> Path:
        """Give the output of one host in one attempt of a job's command."""
        return self.logs(user, job) / f"command_run_{number:03d}_worker_{worker}.log"

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
        return Path(variable).expanduser().absolute()
    for folder in (cwd, *cwd.parents):
        if (folder / "jobs" / ".jobman").is_dir():
            return folder
    return cwd
