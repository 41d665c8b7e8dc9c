"""Keys that a job brings to its hosts: what they open, and who gets to see them."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import asyncssh
import attrs
import pytest
from tests.core.ssh.conftest import Machine
from tests.integration.test_queue_mode import git
from tests.support.cloud import CloudLab

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.timeout(120)]

#: What a key is told from all other texts by: a line of it that no other has.
_LINE = 2


@attrs.define
class Watcher:
    """Looks at the arguments and the environment of every process, again and again."""

    secret: bytes
    seen: list[str] = attrs.field(factory=list)
    looks: int = 0

    def look(self) -> None:
        for process in Path("/proc").iterdir():
            for path in (process / "cmdline", process / "environ"):
                # It may be gone by now.
                with contextlib.suppress(OSError):
                    if self.secret in (content := path.read_bytes()):
                        self.seen.append(f"{path}: {content!r}")
        self.looks += 1


@contextmanager
def watching(secret: bytes) -> Iterator[Watcher]:
    watcher, over = Watcher(secret), threading.Event()

    def work() -> None:
        while not over.is_set():
            watcher.look()

    thread = threading.Thread(target=work, name="watcher")
    thread.start()
    try:
        yield watcher
    finally:
        over.set()
        thread.join()


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """Give a repository that has a script."""
    work, bare = tmp_path / "work", tmp_path / "private.git"
    work.mkdir()
    (work / "run.sh").write_text('echo "the key is $(stat -c "%a %U" ~/.ssh/deploy)"\n')
    git("init", "-q", "-b", "main", ".", cwd=work)
    git("add", ".", cwd=work)
    git("commit", "-qm", "scripts", cwd=work)
    git("clone", "-q", "--bare", work, bare, cwd=tmp_path)
    return bare


@contextmanager
def serving(address: str, folder: Path, public: str) -> Iterator[str]:
    """Let in by SSH, at an address of this machine, whoever has a key; give where."""
    with socket.create_server((address, 0)) as free:
        port = free.getsockname()[1]
    (folder / "home").mkdir(parents=True)
    machine = Machine(address, port, folder)
    machine.new_host_key()
    machine.authorized.write_text(public)
    machine.start()
    try:
        yield f"{address}:{port}"
    finally:
        machine.stop()


def test_a_private_repository_is_opened_by_a_key_that_nobody_else_sees(
    netns_cloud: CloudLab, private: Path, tmp_path: Path
) -> None:
    lab = netns_cloud
    deploy = lab.root / "person/.ssh/deploy"
    key = asyncssh.generate_private_key("ssh-ed25519")
    key.write_private_key(deploy)
    secret = deploy.read_text().splitlines()[_LINE]
    lab.ssh("identities:", "- private_key: ~/.ssh/deploy", "  config_entry: |", "    Host *.*",
            "      IdentityFile ~/.ssh/deploy", "      IdentitiesOnly yes")  # fmt: skip
    lab.write("tasks.yaml", "accelerators: {}\n")
    with watching(secret.encode()) as watcher, ExitStack() as stack:
        job = lab.create(lab.job("keys", queue="tasks.yaml", accelerator="v4-16"))
        ip = lab.until("its hosts", lambda: [h["ip"] for h in lab.json("show", job)["hosts"]])[0]
        gateway = ".".join([*ip.split(".")[:2], "0", "1"])
        public = key.export_public_key().decode()
        place = stack.enter_context(serving(gateway, tmp_path / "server", public))
        lab.write(
            "tasks.yaml",
            f"""\
            repos:
              open: ssh://root@{place}{private}
              closed: ssh://nobody@{place}{private}
            defaults: {{workers: all, max_retries: 1}}
            accelerators:
              v4-16:
                tasks:
                  - {{id: first, repo: open, run: bash run.sh}}
                  - {{id: second, repo: open, run: bash run.sh}}
                  - {{id: third, repo: closed, run: bash run.sh}}
            """,
        )
        lab.until("all tasks", lambda: lab.task("third")["status"] == "FAILED")
        before = watcher.looks
        lab.until("another look", lambda: watcher.looks > before + 1)
    assert watcher.seen == []
    for task in ("first", "second"):
        assert lab.task(task)["status"] == "DONE"
        for worker in (0, 1):
            (log,) = lab.root.glob(f"jobs/tasks/{task}/run_001_job*_worker_{worker}.log")
            assert log.read_text() == "the key is 600 ada\n"
    # Nobody was asked anything: it would still wait for an answer.
    assert "Permission denied" in lab.task("third")["reason"]

    files = [path for path in lab.root.rglob("*") if path.is_file() and path != deploy]
    assert any(path.name == "jobman.db" for path in files)
    assert [path for path in files if secret.encode() in path.read_bytes()] == []
    script = "cd; grep -rlF -f <(sed -n 3p .ssh/deploy) ~ /tmp /run /var/log; stat -c '%a %n'"
    said = lab.run("ssh", job, "--worker", "1", "--", "bash", "-c", f"{script} .ssh .ssh/config")
    found = said.out.splitlines()
    assert found[0].endswith("/.ssh/deploy")
    assert found[1:] == ["700 .ssh", "600 .ssh/config"]
