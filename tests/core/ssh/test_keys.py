"""The public keys that new hosts are told to let in."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest
from tests.core.ssh.conftest import make_key

from jobman_core.errors import PermanentCloudError, TransientCloudError
from jobman_core.ssh import Access, Links, public_keys

pytestmark = pytest.mark.e2e


@pytest.fixture
def links(tmp_path: Path) -> Links:
    """Give a user who has no key yet."""
    folder = tmp_path / "dot-ssh"
    folder.mkdir()
    return Links({"PATH": os.environ["PATH"]}, folder)


async def test_without_any_key_it_says_how_to_make_one(links: Links) -> None:
    with pytest.raises(PermanentCloudError, match="ssh-keygen -t ed25519"):
        await public_keys(Access("ann"), links)


async def test_the_key_of_the_job_is_the_only_one(links: Links, tmp_path: Path) -> None:
    make_key(links.folder / "id_ed25519")
    public = make_key(tmp_path / "mine")
    access = Access("ann", private_key=tmp_path / "mine")
    assert await public_keys(access, links) == (f"ann:{public}",)


async def test_a_private_key_alone_is_enough(links: Links, tmp_path: Path) -> None:
    public = make_key(tmp_path / "mine")
    (tmp_path / "mine.pub").unlink()
    access = Access("ann", private_key=tmp_path / "mine")
    assert await public_keys(access, links) == (f"ann:{public}",)


async def test_a_locked_private_key_alone_is_not(links: Links, tmp_path: Path) -> None:
    key = tmp_path / "mine"
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", str(key)]
    subprocess.run(argv, check=True)  # noqa: ASYNC221 - it takes no time
    (tmp_path / "mine.pub").unlink()
    with pytest.raises(PermanentCloudError, match=r"ssh-keygen -y -f .*mine > .*mine\.pub"):
        await public_keys(Access("ann", private_key=key), links)


async def test_a_key_that_is_not_there_is_told(links: Links, tmp_path: Path) -> None:
    with pytest.raises(PermanentCloudError, match=r"there is no key file .*mine: check ssh"):
        await public_keys(Access("ann", private_key=tmp_path / "mine"), links)


async def test_else_all_that_ssh_would_offer_gclouds_first(links: Links) -> None:
    own = make_key(links.folder / "id_ed25519")
    google = make_key(links.folder / "google_compute_engine")
    assert await public_keys(Access("ann"), links) == (f"ann:{google}", f"ann:{own}")


async def test_an_agent_that_gives_no_answer_is_not_waited_for(
    links: Links, tmp_path: Path
) -> None:
    async def hang(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asked.wait()
        writer.close()

    asked = asyncio.Event()
    async with await asyncio.start_unix_server(hang, tmp_path / "agent"):
        silent = Links({**links.environ, "SSH_AUTH_SOCK": str(tmp_path / "agent")}, links.folder)
        with pytest.raises(TransientCloudError, match=r"`ssh-add -L` gives no answer: .*AUTH_SOCK"):
            await public_keys(Access("ann"), silent, limit=0.2)
        asked.set()


async def test_keys_of_the_agent_count(links: Links, tmp_path: Path) -> None:
    public = make_key(tmp_path / "mine")
    socket = tmp_path / "agent"
    agent = await asyncio.create_subprocess_exec("ssh-agent", "-D", "-a", str(socket))
    try:
        environ = {**links.environ, "SSH_AUTH_SOCK": str(socket)}
        async with asyncio.timeout(20):
            while not socket.exists():  # noqa: ASYNC110 - a file tells nobody
                await asyncio.sleep(0.01)
        adding = await asyncio.create_subprocess_exec(
            "ssh-add", "-q", str(tmp_path / "mine"), env=environ
        )
        assert await adding.wait() == 0
        found = await public_keys(Access("ann"), Links(environ, links.folder))
        assert found == (f"ann:{public}",)
    finally:
        agent.kill()
        await agent.wait()


def test_the_folder_of_keys_is_openssh_s_own_whatever_home_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    said = subprocess.run(["ssh", "-F", "none", "-G", "host"], capture_output=True, check=True)
    assert f"userknownhostsfile {Links().folder}/known_hosts" in said.stdout.decode()
