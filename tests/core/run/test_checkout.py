"""A task's code on its hosts, with a real git and repositories on this machine."""

import asyncio
import fcntl
import os
import re
import shutil
import subprocess
import threading
from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import attrs
import pytest

from jobman_core.command import Command, Exit
from jobman_core.errors import CommandFailedError
from jobman_core.interfaces.host import Host, HostFacts
from jobman_core.models.address import mask
from jobman_core.models.task import Repo
from jobman_core.run.checkout import checkout
from jobman_core.testing.session_contract import eventually

pytestmark = pytest.mark.e2e

_GIT_ENV = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": "x@y" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


MIRROR = re.compile(r"[0-9a-f]{40}")


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ("git", *arguments), cwd=folder, env=_GIT_ENV, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


class FolderHost(Host):
    """A folder of this machine; runs commands as a host would."""

    facts = HostFacts()

    def __init__(self, index: int, home: Path, **env: str) -> None:
        self.index = index
        self.home = home
        self.env = {"PATH": os.environ["PATH"], "HOME": str(home), **env}
        self.commands: list[Command] = []
        self.before: Callable[[], object] = lambda: None
        home.mkdir()

    async def run(self, command: Command, *, limit: float) -> Exit:
        self.commands.append(command)
        self.before()
        process = await asyncio.create_subprocess_exec(
            *command.argv,
            cwd=self.home,
            env=self.env,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate(command.stdin)
        assert process.returncode is not None
        return Exit(process.returncode, out, err)

    async def put(self, content: bytes, path: str, *, mode: int = 0o600) -> None:
        target = self.home / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        target.chmod(mode)


@attrs.frozen
class Origin:
    """A bare repository, and a clone to push to it from."""

    bare: Path
    work: Path

    def commit(self, text: str) -> str:
        (self.work / "file").write_text(text)
        git(self.work, "add", "file")
        git(self.work, "commit", "--quiet", "--message", text)
        git(self.work, "push", "--quiet", "--force", "origin", "HEAD")
        return git(self.work, "rev-parse", "HEAD")


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    bare, work = tmp_path / "origin of it's.git", tmp_path / "work"
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", str(bare))
    git(tmp_path, "init", "--quiet", "--initial-branch=main", str(work))
    git(work, "remote", "add", "origin", str(bare))
    return Origin(bare, work)


@pytest.fixture
def hosts(tmp_path: Path) -> list[FolderHost]:
    return [FolderHost(i, tmp_path / f"host {i}") for i in range(3)]


def leftovers(host: FolderHost) -> list[str]:
    """Give what checkouts left but the mirrors and the locks."""
    folders = (host.home / ".jobman", host.home / ".jobman/mirrors")
    found = [path.name for folder in folders for path in folder.iterdir() if path.is_dir()]
    return [name for name in found if name != "mirrors" and not MIRROR.fullmatch(name)]


async def test_all_hosts_get_the_branch_s_commit(origin: Origin, hosts: list[FolderHost]) -> None:
    commit = origin.commit("one")
    assert await checkout(hosts, Repo(str(origin.bare), "main"), "code/x", limit=30) == commit
    for host in hosts:
        assert (host.home / "code/x/file").read_text() == "one"
        assert git(host.home / "code/x", "rev-parse", "HEAD") == commit
        assert leftovers(host) == []
    # As after a plain clone of that branch: pull works.
    assert git(hosts[0].home / "code/x", "status", "--branch", "--short") == "## main...origin/main"


async def test_a_branch_that_moves_meanwhile_does_not_split_the_hosts(
    origin: Origin, hosts: list[FolderHost]
) -> None:
    commit = origin.commit("one")
    hosts[1].before = lambda: None if (origin.work / "moved").exists() else moved()

    def moved() -> None:
        (origin.work / "moved").touch()
        origin.commit("two")

    assert await checkout(hosts, Repo(str(origin.bare), "main"), "x", limit=30) == commit
    assert {(host.home / "x/file").read_text() for host in hosts} == {"one"}


async def test_a_commit_that_was_pushed_away_is_still_found(
    origin: Origin, hosts: list[FolderHost]
) -> None:
    origin.commit("base")
    commit = origin.commit("one")
    git(origin.work, "reset", "--quiet", "--hard", "HEAD~1")
    origin.commit("another")
    git(origin.bare, "config", "uploadpack.allowAnySHA1InWant", "true")
    url = origin.bare.as_uri()
    assert await checkout(hosts, Repo(url, commit), "x", limit=30) == commit
    assert (hosts[2].home / "x/file").read_text() == "one"


async def test_tags_and_commits_are_known(origin: Origin, hosts: list[FolderHost]) -> None:
    first = origin.commit("one")
    git(origin.work, "tag", "--annotate", "--message", "t", "v1.0")
    git(origin.work, "push", "--quiet", "origin", "v1.0")
    second = origin.commit("two")
    for ref, expected in (
        ("v1.0", first), (first, first), (first[:8], first), (second, second), ("", second),
    ):  # fmt: skip
        assert await checkout(hosts[:1], Repo(str(origin.bare), ref), "x", limit=30) == expected


async def test_odd_branch_names_are_data(origin: Origin, hosts: list[FolderHost]) -> None:
    origin.commit("main")
    for name in ("feature/é☃", "$(touch${IFS}pwned)", "a'b\"c;d&e", "-x", "--upload-pack=touch"):
        (origin.work / "file").write_text(name)
        git(origin.work, "commit", "--quiet", "--all", "--message", name)
        git(origin.work, "push", "--quiet", "origin", f"HEAD:refs/heads/{name}")
        head = git(origin.work, "rev-parse", "HEAD")
        assert await checkout(hosts[:2], Repo(str(origin.bare), name), "x", limit=30) == head
        assert (hosts[1].home / "x/file").read_text() == name
    assert not list(hosts[0].home.rglob("pwned"))


@pytest.mark.parametrize("ref", ["nope", "$(touch pwned)", "--help", "main~0", "@{-1}", "f" * 40])
async def test_a_ref_that_is_not_there_is_named(
    origin: Origin, hosts: list[FolderHost], ref: str
) -> None:
    origin.commit("one")
    with pytest.raises(CommandFailedError) as caught:
        await checkout(hosts, Repo(str(origin.bare), ref), "x", limit=30)
    assert f"no branch, tag or commit {ref!r}" in str(caught.value)
    assert not list(hosts[0].home.rglob("pwned"))
    assert leftovers(hosts[0]) == []


@pytest.mark.parametrize(
    "url",
    ["/no/such/repo", "--upload-pack=touch pwned", "$(touch pwned)", "ext::sh -c touch% pwned", ""],
)
async def test_an_address_that_leads_nowhere_is_named(hosts: list[FolderHost], url: str) -> None:
    with pytest.raises(CommandFailedError, match="fatal:") as caught:
        await checkout(hosts, Repo(url, "main"), "x", limit=30)
    assert "host 0" in str(caught.value)
    assert url in str(caught.value)
    assert not list(hosts[0].home.rglob("pwned"))


async def test_what_was_there_is_removed(origin: Origin, hosts: list[FolderHost]) -> None:
    origin.commit("one")
    old = hosts[0].home / "x"
    (old / ".git/broken").mkdir(parents=True)
    (old / ".git/index.lock").touch()
    (old / "read-only").mkdir()
    (old / "read-only/left").touch()
    (old / "read-only").chmod(0o500)
    await checkout(hosts[:1], Repo(str(origin.bare), "main"), "x", limit=30)
    assert sorted(path.name for path in old.iterdir()) == [".git", "file"]


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


@pytest.fixture
def mounted(hosts: list[FolderHost]) -> Iterator[Path]:
    """Give a folder of the first host at which something is mounted."""
    place = hosts[0].home / "x"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "bucket", place], check=True)
    yield place
    subprocess.run(["umount", place], check=True)


@pytest.mark.root
async def test_what_is_mounted_in_the_folder_s_place_is_not_touched(
    origin: Origin, hosts: list[FolderHost], mounted: Path
) -> None:
    origin.commit("one")
    (mounted / "checkpoint").touch()
    with pytest.raises(CommandFailedError, match="something is mounted at ~/x"):
        await checkout(hosts[:1], Repo(str(origin.bare), "main"), "x", limit=30)
    assert names(mounted) == ["checkpoint"]


async def test_a_link_is_removed_as_a_link(
    origin: Origin, hosts: list[FolderHost], tmp_path: Path
) -> None:
    origin.commit("one")
    data = tmp_path / "data"
    data.mkdir()
    (data / "precious").touch()
    (hosts[0].home / "x").symlink_to(data)
    await checkout(hosts[:1], Repo(str(origin.bare), "main"), "x/", limit=30)
    assert not (hosts[0].home / "x").is_symlink()
    assert [path.name for path in data.iterdir()] == ["precious"]


@pytest.mark.parametrize("workdir", ["-d", "with space/é☃", "$(id)", "deep/er/x"])
async def test_any_plain_folder_will_do(
    origin: Origin, hosts: list[FolderHost], workdir: str
) -> None:
    commit = origin.commit("one")
    assert await checkout(hosts[:1], Repo(str(origin.bare), "main"), workdir, limit=30) == commit
    assert (hosts[0].home / workdir / "file").read_text() == "one"


@pytest.mark.parametrize("workdir", ["", "/", ".", "..", "../other", "a/../../b", "/etc", "a//b"])
async def test_no_other_folder_is_ever_removed(
    origin: Origin, hosts: list[FolderHost], workdir: str
) -> None:
    origin.commit("one")
    (hosts[0].home / "precious").touch()
    with pytest.raises(CommandFailedError, match="plain relative path"):
        await checkout(hosts[:1], Repo(str(origin.bare), "main"), workdir, limit=30)
    assert (hosts[0].home / "precious").exists()


async def test_a_failure_on_one_host_names_it(origin: Origin, hosts: list[FolderHost]) -> None:
    origin.commit("one")
    (hosts[2].home / "file").touch()
    with pytest.raises(CommandFailedError, match="host 2"):
        await checkout(hosts, Repo(str(origin.bare), "main"), "file/x", limit=30)


async def test_a_host_that_knows_the_script_is_asked_once(
    origin: Origin, hosts: list[FolderHost]
) -> None:
    origin.commit("one")
    for asked in (2, 3):
        await checkout(hosts[:1], Repo(str(origin.bare), "main"), "x", limit=30)
        assert len(hosts[0].commands) == asked


async def test_the_address_stands_in_no_argument(origin: Origin, hosts: list[FolderHost]) -> None:
    origin.commit("one")
    await checkout(hosts, Repo(str(origin.bare), "main"), "x", limit=30)
    for host in hosts:
        for command in host.commands:
            assert not [item for item in command.argv if str(origin.bare) in item]


async def test_another_repository_in_the_environment_is_not_meant(
    origin: Origin, tmp_path: Path
) -> None:
    commit = origin.commit("one")
    host = FolderHost(0, tmp_path / "host", GIT_DIR="/nowhere", GIT_WORK_TREE="/nowhere")
    assert await checkout([host], Repo(str(origin.bare), "main"), "x", limit=30) == commit


async def test_a_host_without_git_says_so(origin: Origin, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for program in ("sh", "bash"):
        found = shutil.which(program)
        assert found is not None
        (programs / program).symlink_to(found)
    host = FolderHost(0, tmp_path / "host")
    host.env["PATH"] = str(programs)
    with pytest.raises(CommandFailedError, match="git is not installed"):
        await checkout([host], Repo(str(origin.bare), "main"), "x", limit=30)


@asynccontextmanager
async def server(
    answer: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[int]:
    """Serve on a port of its own, which it gives."""
    listening = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield listening.sockets[0].getsockname()[1]
    finally:
        listening.close()


async def test_a_password_prompt_is_an_error_and_no_secret_is_told(
    hosts: list[FolderHost],
) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(
            b'HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm="x"\r\n'
            b"Content-Length: 0\r\nConnection: close\r\n\r\n"
        )
        await writer.drain()
        writer.close()

    async with server(refuse) as port:
        with pytest.raises(CommandFailedError, match="prompts disabled"):
            await checkout(hosts[:1], Repo(f"http://127.0.0.1:{port}/x", "main"), "x", limit=30)
        url = f"http://me:tok%2Den-123@127.0.0.1:{port}/x"
        with pytest.raises(CommandFailedError, match="Authentication failed") as caught:
            await checkout(hosts[:1], Repo(url, "main"), "x", limit=30)
        assert "tok" not in str(caught.value)
        assert f"127.0.0.1:{port}" in str(caught.value)


async def test_a_server_that_never_answers_is_given_up(hosts: list[FolderHost]) -> None:
    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with server(hang) as port:
        with pytest.raises(CommandFailedError, match="took longer than 1 s"):
            await checkout(hosts[:1], Repo(f"git://127.0.0.1:{port}/x", "main"), "x", limit=1)
    assert leftovers(hosts[0]) == []


@pytest.mark.parametrize(("ref", "warm"), [("main", False), ("its commit", False), ("main", True)])
async def test_an_older_checkout_cannot_replace_a_newer_one(
    origin: Origin, hosts: list[FolderHost], tmp_path: Path, ref: str, *, warm: bool
) -> None:
    commit = origin.commit("new")
    if warm:
        await checkout(hosts[:1], Repo(str(origin.bare), "main"), "x", limit=30)
    # An older checkout that has its clone and is about to put it in place, held up in a hook.
    held, go = tmp_path / "held", tmp_path / "go"
    os.mkfifo(go)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "post-checkout").write_text(f"#!/bin/sh\ntouch '{held}'\nread line < '{go}'\n")
    (hooks / "post-checkout").chmod(0o755)
    config = tmp_path / "config"
    config.write_text(f"[core]\n\thooksPath = {hooks}\n")
    repo = Repo(str(origin.bare), ref if ref == "main" else commit)
    host = hosts[0]
    host.env["GIT_CONFIG_GLOBAL"] = str(config)
    older = asyncio.create_task(checkout([host], repo, "x", limit=30))
    await eventually(held.exists, "the older one waits in its hook")
    del host.env["GIT_CONFIG_GLOBAL"]
    await checkout([host], repo, "x", limit=30)
    (host.home / "x/of the new run").touch()
    await asyncio.to_thread(go.write_text, "go\n")
    with pytest.raises(CommandFailedError):
        await older
    assert (host.home / "x/of the new run").exists()
    assert leftovers(host) == []


def mirror_of(host: FolderHost) -> Path:
    """Give the one mirror that a host has."""
    found = [path for path in (host.home / ".jobman/mirrors").iterdir() if path.is_dir()]
    assert len(found) == 1
    return found[0]


def objects(repository: Path) -> list[Path]:
    return [path for path in (repository / "objects").rglob("*") if path.is_file()]


async def test_a_second_task_fetches_only_what_is_new(
    origin: Origin, hosts: list[FolderHost]
) -> None:
    origin.commit("one")
    old = objects(origin.bare)
    repo = Repo(str(origin.bare), "main")
    await checkout(hosts[:1], repo, "x", limit=30)
    commit = origin.commit("two")
    blob = git(origin.work, "rev-parse", "HEAD~1:file")
    # Whoever asked for all of it again would not get it.
    (gone,) = [path for path in old if f"{path.parent.name}{path.name}" == blob]
    gone.unlink()
    assert await checkout(hosts[:1], repo, "y", limit=30) == commit
    assert (hosts[0].home / "y/file").read_text() == "two"
    assert git(hosts[0].home / "y", "show", "HEAD~1:file") == "one"


async def test_a_checkout_owes_nothing_to_the_mirror(
    origin: Origin, hosts: list[FolderHost]
) -> None:
    origin.commit("one")
    await checkout(hosts[:1], Repo(str(origin.bare), "main"), "x", limit=30)
    shutil.rmtree(mirror_of(hosts[0]))
    code = hosts[0].home / "x"
    git(code, "fsck", "--strict")
    assert git(code, "remote", "get-url", "origin") == str(origin.bare)
    origin.commit("two")
    git(code, "pull", "--quiet")
    assert (code / "file").read_text() == "two"


async def test_hosts_that_have_the_commit_ask_nobody(
    origin: Origin, hosts: list[FolderHost]
) -> None:
    commit = origin.commit("one")
    repo = Repo(str(origin.bare), "main")
    await checkout(hosts, repo, "x", limit=30)
    away = origin.bare.with_name("away")
    for host in hosts[1:]:
        host.before = lambda: origin.bare.exists() and origin.bare.rename(away)
    assert await checkout(hosts, repo, "y", limit=30) == commit
    assert away.exists()
    assert git(hosts[2].home / "y", "status", "--branch", "--short") == "## main...origin/main"


async def test_what_becomes_of_branches_and_tags_is_followed(
    origin: Origin, hosts: list[FolderHost]
) -> None:
    work, repo = origin.work, str(origin.bare)
    first = origin.commit("one")
    git(work, "push", "--quiet", "origin", "HEAD:refs/heads/a", "HEAD:refs/tags/t")
    for ref in ("a", "t", ""):
        assert await checkout(hosts[:1], Repo(repo, ref), "x", limit=30) == first
    mirror = mirror_of(hosts[0]).stat().st_ino
    second = origin.commit("two")
    git(work, "push", "--quiet", "origin", ":a", "+HEAD:refs/tags/t", "HEAD~1:refs/heads/trunk")
    git(work, "push", "--quiet", "origin", "HEAD:refs/heads/a/b")
    git(origin.bare, "symbolic-ref", "HEAD", "refs/heads/trunk")
    for ref, commit in (("a/b", second), ("t", second), ("", first)):
        assert await checkout(hosts[:1], Repo(repo, ref), "x", limit=30) == commit
    with pytest.raises(CommandFailedError, match="no branch, tag or commit 'a'"):
        await checkout(hosts[:1], Repo(repo, "a"), "x", limit=30)
    assert mirror_of(hosts[0]).stat().st_ino == mirror, "it was made anew"


def _empty(mirror: Path) -> None:
    shutil.rmtree(mirror)
    mirror.mkdir()


def _file(mirror: Path) -> None:
    shutil.rmtree(mirror)
    mirror.write_text("what is this?")


def _garbled(mirror: Path) -> None:
    for path in objects(mirror):
        path.chmod(0o600)
        path.write_bytes(b"\0" * path.stat().st_size)


def _blob(mirror: Path) -> Path:
    name = git(mirror, "rev-parse", "main:file")
    return mirror / "objects" / name[:2] / name[2:]


def _garble_blob(mirror: Path) -> None:
    _blob(mirror).chmod(0o600)
    _blob(mirror).write_bytes(b"?")


#: What a host's death in the middle of something, or a disk, or a person may leave.
DAMAGES: Mapping[str, Callable[[Path], object]] = {
    "an empty folder": _empty,
    "a file": _file,
    "garbled objects": _garbled,
    "no blob": lambda mirror: _blob(mirror).unlink(),
    "a garbled blob": _garble_blob,
    "no objects": lambda mirror: shutil.rmtree(mirror / "objects"),
    "no HEAD": lambda mirror: (mirror / "HEAD").unlink(),
    "no config": lambda mirror: (mirror / "config").write_text("[core"),
    "a ref that leads nowhere": lambda mirror: (mirror / "refs/heads/main").write_text("f" * 40),
    "an empty ref": lambda mirror: (mirror / "refs/heads/main").write_text(""),
    "a lock": lambda mirror: (mirror / "refs/heads/main.lock").touch(),
}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_mirror_that_is_damaged_is_made_anew(
    origin: Origin, hosts: list[FolderHost], damage: str
) -> None:
    commit = origin.commit("one")
    repo, host = Repo(str(origin.bare), "main"), hosts[0]
    await checkout(hosts[:1], repo, "x", limit=30)
    mirror = mirror_of(host)
    DAMAGES[damage](mirror)
    if "blob" not in damage:
        commit = origin.commit("two")
    assert await checkout(hosts[:1], repo, "x", limit=30) == commit
    git(host.home / "x", "fsck", "--strict")
    git(mirror, "fsck", "--strict")
    assert leftovers(host) == []


async def test_a_mirror_outlives_an_outage_of_its_repository(
    origin: Origin, hosts: list[FolderHost]
) -> None:
    commit = origin.commit("one")
    repo = Repo(str(origin.bare), "main")
    await checkout(hosts[:1], repo, "x", limit=30)
    mirror = mirror_of(hosts[0])
    before = sorted((path, path.stat().st_ino) for path in objects(mirror))
    away = origin.bare.rename(origin.bare.with_name("away"))
    with pytest.raises(CommandFailedError, match="fatal:"):
        await checkout(hosts[:1], repo, "x", limit=30)
    assert (hosts[0].home / "x/file").read_text() == "one"
    away.rename(origin.bare)
    assert await checkout(hosts[:1], repo, "x", limit=30) == commit
    assert sorted((path, path.stat().st_ino) for path in objects(mirror)) == before
    assert leftovers(hosts[0]) == []


async def test_a_mirror_that_another_checkout_holds_is_done_without(
    origin: Origin, hosts: list[FolderHost]
) -> None:
    origin.commit("one")
    repo = Repo(str(origin.bare), "main")
    await checkout(hosts[:1], repo, "x", limit=30)
    commit = origin.commit("two")
    state = hosts[0].home / ".jobman"
    with mirror_of(hosts[0]).with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        older = asyncio.create_task(checkout(hosts[:1], repo, "x", limit=2000))
        await eventually(lambda: any(state.glob("checkout.d.*/mine")), "the older one has begun")
        assert await checkout(hosts[:1], repo, "x", limit=20) == commit
        (hosts[0].home / "x/of the new run").touch()
    # The one that waited on finds that it was overtaken.
    with pytest.raises(CommandFailedError, match="a newer checkout has begun"):
        await older
    assert (hosts[0].home / "x/of the new run").exists()
    assert leftovers(hosts[0]) == []


@contextmanager
def private_server(folder: Path) -> Iterator[tuple[int, set[str]]]:
    """Serve a folder's files over HTTP; gives the port, and the logins that are let in."""
    logins: set[str] = set()

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            word, _, login = self.headers.get("Authorization", "").partition(" ")
            if word == "Basic" and b64decode(login).decode() in logins:
                super().do_GET()
                return
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            del arguments

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port, logins
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def test_a_token_stays_out_of_the_mirror_and_may_change(
    origin: Origin, hosts: list[FolderHost], tmp_path: Path
) -> None:
    commit = origin.commit("one")
    git(origin.bare, "update-server-info")
    host = hosts[0]
    with private_server(tmp_path) as (port, logins):

        async def check_out(login: str) -> str:
            url = f"http://{login}@127.0.0.1:{port}/{quote(origin.bare.name)}"
            return await checkout([host], Repo(url, "main"), "x", limit=30)

        logins.add("me:tok-en-123")
        assert await check_out("me:tok-en-123") == commit
        before = mirror_of(host)
        logins.clear()
        logins.add("me:tok-en-456")
        with pytest.raises(CommandFailedError, match="Authentication failed"):
            await check_out("me:tok-en-123")
        assert await check_out("me:tok-en-456") == commit
        assert mirror_of(host) == before
    state = host.home / ".jobman"
    assert not [p for p in state.rglob("*") if p.is_file() and b"tok-en" in p.read_bytes()]
    assert (state / "mirrors").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("written", "login"),
    [("me:tok-en-%31%40%5C", "me:tok-en-1@\\"), ("tok-en-2", "tok-en-2:")],
)
async def test_a_token_is_seen_in_no_process_and_in_no_file_of_others(
    origin: Origin, tmp_path: Path, written: str, login: str
) -> None:
    origin.commit("one")
    git(origin.bare, "update-server-info")
    trace = tmp_path / "trace"
    host = FolderHost(7, tmp_path / "traced", GIT_TRACE=str(trace))
    with private_server(tmp_path) as (port, logins):
        logins.add(login)
        url = f"http://{written}@127.0.0.1:{port}/{quote(origin.bare.name)}"
        await checkout([host], Repo(url, "main"), "x", limit=30)
        await checkout([host], Repo(url, git(origin.bare, "rev-parse", "main")), "x", limit=30)
    assert "remote-http" in trace.read_text()
    assert "tok-en" not in trace.read_text()
    assert git(host.home / "x", "config", "remote.origin.url") == url
    for path in (host.home / "x").rglob("*"):
        if path.is_file() and b"tok-en" in path.read_bytes():
            assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:s3cr%23t@host/x.git", "https://***@host/x.git"),
        ("https://ghp_token123@host/x.git", "https://***@host/x.git"),
        ("https://user:p@ss@host/x.git", "https://***@host/x.git"),
        ("ssh://git@host/x.git", "ssh://git@host/x.git"),
        ("git@host:x.git", "git@host:x.git"),
        ("https://host/x.git", "https://host/x.git"),
        ("https://[broken", "https://[broken"),
    ],
)
def test_logins_are_masked(url: str, shown: str) -> None:
    assert mask(url, url) == shown
    assert (
        mask(f"fatal: unable to access '{url}/': no", url)
        == f"fatal: unable to access '{shown}/': no"
    )


def test_a_password_is_masked_without_its_address_too() -> None:
    url = "https://user:s3cr%23t@host/x.git"
    assert mask("bad: s3cr%23t or s3cr#t", url) == "bad: *** or ***"
