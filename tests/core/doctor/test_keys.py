"""What ``doctor`` says of OpenSSH: the program, and keys that a controller can use."""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.core.ssh.conftest import make_key

from jobman_core.doctor.keys import (
    Agent,
    Key,
    judge_keys,
    judge_program,
    key_of,
    ssh,
)
from jobman_core.models.checkup import Checkup, Health
from jobman_core.ssh import Links

DEAF = Agent(named=False)
HOME = Path("/home/ada/.ssh")


@pytest.fixture
def links(tmp_path: Path) -> Iterator[Links]:
    """Give a user with no keys yet, no agent, and a runtime folder."""
    (tmp_path / ".ssh").mkdir(mode=0o700)
    # One whose name is too long for sockets is not used.
    with TemporaryDirectory(prefix="run-") as run:
        environ = {"PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": run}
        yield Links(environ, tmp_path / ".ssh")


async def of_keys(links: Links) -> Checkup:
    """What is told of the user's own to a job that names none."""
    return await key_of(None, links)


@pytest.mark.parametrize(
    ("said", "health"),
    [
        ("OpenSSH_9.2p1 Debian-2+deb12u3, OpenSSL 3.0.15", Health.WELL),
        ("OpenSSH_7.6p1, LibreSSL", Health.WELL),
        ("OpenSSH_7.4p1, OpenSSL 1.0.2k-fips", Health.BROKEN),
        ("Sun_SSH_2.4", Health.DOUBT),
        (None, Health.BROKEN),
    ],
)
def test_openssh_has_to_be_there_and_new_enough(said: str | None, health: Health) -> None:
    assert judge_program(said, needed=True).health is health


def test_without_a_cloud_nobody_needs_ssh() -> None:
    assert judge_program(None, needed=False).health is Health.DOUBT
    assert judge_keys([], DEAF, HOME, needed=False).health is Health.DOUBT


def test_of_keys_one_that_a_controller_can_use_is_enough() -> None:
    locked, exposed = Key(HOME / "id_a", locked=True), Key(HOME / "id_b", open_to_others=True)
    assert judge_keys([locked, Key(HOME / "id_c")], DEAF, HOME, needed=True).text == "id_c"
    agent = Agent(named=True, answers=True, keys="ssh-ed25519 AAAA ada")
    assert judge_keys([], agent, HOME, needed=True).text == "1 of the agent"
    assert "passphrase" in judge_keys([locked], DEAF, HOME, needed=True).text
    assert "chmod 600" in judge_keys([exposed], DEAF, HOME, needed=True).remedy
    away = judge_keys([], Agent(named=True), HOME, needed=True)
    assert "does not answer" in away.text


async def test_where_there_is_no_key_the_command_that_makes_one_is_told(links: Links) -> None:
    found = await of_keys(links)
    assert found.health is Health.BROKEN
    assert found.remedy == f"run `ssh-keygen -t ed25519 -f {links.folder}/id_ed25519`"


async def test_a_real_key_is_well_until_others_may_read_it(links: Links) -> None:
    make_key(links.folder / "id_ed25519")
    assert (await of_keys(links)).health is Health.WELL
    (links.folder / "id_ed25519").chmod(0o644)
    assert "others may read" in (await of_keys(links)).text
    # What the socket of an agent would be.
    links.environ = {**links.environ, "SSH_AUTH_SOCK": "/nowhere"}
    assert (await of_keys(links)).health is Health.BROKEN


async def test_who_has_no_key_of_their_own_may_name_one_in_each_job(links: Links) -> None:
    found = {each.name: each for each in await ssh(links, needed=True)}
    assert found["ssh keys"].health is Health.DOUBT


async def test_a_key_with_a_passphrase_that_no_agent_has_is_broken(
    links: Links, tmp_path: Path
) -> None:
    key = tmp_path / "tpu"
    make_key(key, passphrase="secret")
    found = await key_of(key, links)
    assert (found.health, "ssh-add" in found.remedy) == (Health.BROKEN, True)
    make_key(tmp_path / "open")
    assert (await key_of(tmp_path / "open", links)).health is Health.WELL
    assert "no key file" in (await key_of(tmp_path / "gone", links)).text


async def test_a_folder_of_connections_that_is_anybodys_is_broken(links: Links) -> None:
    folder = Path(links.environ["XDG_RUNTIME_DIR"]) / "jobman"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    (found,) = [each for each in await ssh(links, needed=True) if each.name == "ssh connections"]
    assert (found.health, found.remedy) == (Health.BROKEN, "remove it")
