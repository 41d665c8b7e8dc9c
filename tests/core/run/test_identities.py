"""Keys and the block of ``~/.ssh/config`` on a host, put there by a real bash."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import asyncssh
import attrs
import pytest

from jobman_core.command import Exit
from jobman_core.errors import InvalidInputError
from jobman_core.models.job import HoldMode, JobSpec
from jobman_core.models.slice import SliceRequest
from jobman_core.run.identities import identity_step

pytestmark = pytest.mark.e2e

SPEC = JobSpec("train", "train", HoldMode(), (SliceRequest("gcp", "v4-8", "us-central2-b"),))


def spec_of(*identities: dict[str, Any], cloud: str = "gcp") -> JobSpec:
    request = attrs.evolve(SPEC.candidates[0], cloud=cloud)
    sections = {"ssh": {"identities": list(identities)}}
    return attrs.evolve(SPEC, candidates=(request,), sections=sections)


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the home folder of whoever calls jobman, with a key pair."""
    person = tmp_path / "person"
    (person / ".ssh").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(person))
    key = asyncssh.generate_private_key("ssh-ed25519")
    key.write_private_key(person / ".ssh/my_key")
    key.write_public_key(person / ".ssh/my_key.pub")
    return person


@attrs.frozen
class Machine:
    """A folder of this machine where a step is run as on a host."""

    home: Path
    tools: str = os.environ["PATH"]

    @property
    def config(self) -> Path:
        return self.home / ".ssh/config"

    def prepare(self, spec: JobSpec) -> Exit:
        step = identity_step(spec)
        assert step is not None
        (command,) = step.commands
        env = {"PATH": self.tools, "HOME": str(self.home), **command.env}
        done = subprocess.run(
            command.argv, cwd="/", env=env, input=command.stdin, capture_output=True, check=False
        )
        return Exit(done.returncode, done.stdout, done.stderr)

    def well(self, spec: JobSpec) -> None:
        assert self.prepare(spec) == Exit(0)

    def files(self) -> Sequence[str]:
        paths = [path for path in self.home.rglob("*") if not path.is_dir()]
        return sorted(str(path.relative_to(self.home)) for path in paths)

    def mode(self, path: str) -> int:
        return (self.home / path).stat().st_mode & 0o7777


@pytest.fixture
def host(tmp_path: Path) -> Machine:
    home = tmp_path / "the host"
    home.mkdir()
    return Machine(home)


def entry(person: Path, text: str | None = "Host 10.*\n  IdentityFile ~/.ssh/my_key\n") -> JobSpec:
    identity = {"private_key": str(person / ".ssh/my_key")}
    return spec_of(identity | ({"config_entry": text} if text is not None else {}))


def block(*lines: str) -> str:
    said = "# From ssh.identities of the job's file: what is changed here is lost."
    lines = ("# >>> jobman >>>", said, *lines, "Host *", "# <<< jobman <<<")
    return "".join(f"{line}\n" for line in lines)


TOOLS = ["bash", "cat", "chmod", "cp", "head", "mkdir", "mktemp", "mv", "readlink", "rm", "stat"]
TOOLS += ["tail", "wc"]
BLOCK = block("Host 10.*", "  IdentityFile ~/.ssh/my_key")


def test_keys_lie_where_the_entries_look_for_them_and_are_their_users_alone(
    person: Path, host: Machine, tmp_path: Path
) -> None:
    odd = tmp_path / "a 'key' $(id) é"
    odd.write_bytes((person / ".ssh/my_key").read_bytes())
    (person / "keys/deep").mkdir(parents=True)
    (person / "keys/deep/-x").write_bytes(odd.read_bytes() + b"\xff\n\n")
    (host.home / ".ssh").mkdir(mode=0o755)
    keys = [person / ".ssh/my_key", odd, person / "keys/deep/-x"]
    identities = [{"private_key": str(key)} for key in keys]
    identities[0]["public_key"] = f"{keys[0]}.pub"
    host.well(spec_of(*identities))
    placed = {
        ".ssh/my_key": (0o600, keys[0]),
        ".ssh/my_key.pub": (0o644, Path(f"{keys[0]}.pub")),
        f".ssh/{odd.name}": (0o600, odd),
        "keys/deep/-x": (0o600, keys[2]),
    }
    assert host.files() == sorted(placed)
    for name, (mode, source) in placed.items():
        assert (host.home / name).read_bytes() == source.read_bytes()
        assert host.mode(name) == mode
    for folder in (".ssh", "keys", "keys/deep"):
        assert host.mode(folder) == 0o700


def test_a_key_that_is_there_gets_its_new_content_and_mode(person: Path, host: Machine) -> None:
    host.well(entry(person))
    (host.home / ".ssh/my_key").chmod(0o644)
    asyncssh.generate_private_key("ssh-ed25519").write_private_key(person / ".ssh/my_key")
    host.well(entry(person))
    assert (host.home / ".ssh/my_key").read_bytes() == (person / ".ssh/my_key").read_bytes()
    assert host.mode(".ssh/my_key") == 0o600


def test_a_config_is_made_where_there_is_none(person: Path, host: Machine) -> None:
    host.well(entry(person, None))
    assert not host.config.exists()
    host.well(entry(person))
    assert host.config.read_text() == BLOCK
    assert host.mode(".ssh/config") == 0o600


OLD = [
    b"",
    b"\n",
    b"Host a\n  User b",
    b"Host a\r\n\tUser b\r\n",
    b"\0\n\xff\xfe no newline \0",
    b"# >>> jobman >>>\nHost theirs\n",
    b"Host theirs\n# <<< jobman <<<\n",
    b"# <<< jobman <<<\n# >>> jobman >>>\n",
    b"\\n %s `id` $HOME ~\n-n\n",
]


@pytest.mark.parametrize("old", OLD)
def test_what_stands_there_stays_and_the_block_changes_and_goes(
    person: Path, host: Machine, old: bytes
) -> None:
    (host.home / ".ssh").mkdir()
    host.config.write_bytes(old)
    host.config.chmod(0o640)
    whole = old if not old or old.endswith(b"\n") else old + b"\n"
    for _ in range(2):
        host.well(entry(person))
        assert host.config.read_bytes() == whole + BLOCK.encode()
    below = b"Host later\n\0 no newline"
    host.config.write_bytes(host.config.read_bytes() + below)
    host.well(entry(person, "User é"))
    assert host.config.read_bytes() == whole + block("Host *", "User é").encode() + below
    for _ in range(2):
        host.well(spec_of())
        assert host.config.read_bytes() == whole + below
    assert host.mode(".ssh/config") == 0o640
    assert host.files() == [".ssh/config", ".ssh/my_key"]


def test_a_block_with_other_line_ends_is_found_again(person: Path, host: Machine) -> None:
    (host.home / ".ssh").mkdir()
    host.config.write_bytes(b"Host a\r\n" + BLOCK.replace("\n", "\r\n").encode() + b"Host b\r\n")
    host.well(entry(person))
    assert host.config.read_bytes() == b"Host a\r\n" + BLOCK.encode() + b"Host b\r\n"


def test_openssh_reads_each_setting_for_the_hosts_it_is_for(person: Path, host: Machine) -> None:
    (host.home / ".ssh").mkdir()
    host.config.write_text("Compression yes\nHost other\n  Port 7\n")
    host.well(entry(person, "IdentityFile ~/.ssh/my_key"))
    with host.config.open("a") as file:
        file.write("User later\n")

    def said(of: str) -> list[str]:
        argv = ("ssh", "-G", "-F", str(host.config), of)
        lines = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split("\n")
        wanted = ("user later", "port 7", "compression yes", "identityfile ~/.ssh/my_key")
        return [line for line in wanted if line in lines]

    assert said("10.1.2.3") == ["user later", "compression yes", "identityfile ~/.ssh/my_key"]
    assert said("other")[1] == "port 7"


def test_a_config_that_is_a_link_is_followed(person: Path, host: Machine) -> None:
    (host.home / ".ssh").mkdir()
    (host.home / "dotfiles").mkdir()
    real = host.home / "dotfiles/ssh config"
    real.write_text("Host a\n")
    real.chmod(0o400)
    host.config.symlink_to("../dotfiles/ssh config")
    host.well(entry(person))
    assert host.config.is_symlink()
    assert real.read_text() == f"Host a\n{BLOCK}"
    assert real.stat().st_mode & 0o777 == 0o400


@pytest.mark.parametrize("target", ["nowhere/at/all", "config", "/", "/dev/null"])
def test_a_config_that_leads_to_no_file_is_told_of(
    person: Path, host: Machine, target: str
) -> None:
    (host.home / ".ssh").mkdir()
    host.config.symlink_to(target)
    done = host.prepare(entry(person))
    assert (done.code, done.tail()) == (1, "~/.ssh/config leads to no file: mend or remove it")


@pytest.mark.root
def test_a_config_keeps_its_owner(person: Path, host: Machine) -> None:
    (host.home / ".ssh").mkdir()
    host.config.write_text("Host a\n")
    os.chown(host.config, 1234, 2345)
    host.well(entry(person))
    assert (host.config.stat().st_uid, host.config.stat().st_gid) == (1234, 2345)


def test_a_host_that_refuses_says_which_file_and_keeps_it(person: Path, host: Machine) -> None:
    (host.home / ".ssh/my_key").mkdir(parents=True)
    done = host.prepare(entry(person))
    assert done.code == 1
    assert "the key ~/.ssh/my_key cannot be written" in done.tail()
    assert host.files() == []


def test_bash_and_coreutils_are_enough(person: Path, host: Machine, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in TOOLS:
        found = subprocess.run(("which", name), capture_output=True, text=True, check=True)
        (tools / name).symlink_to(found.stdout.strip())
    host = attrs.evolve(host, tools=str(tools))
    for spec in (entry(person), entry(person), spec_of()):
        host.well(spec)


def test_no_secret_stands_where_others_can_see_it(person: Path) -> None:
    secret = (person / ".ssh/my_key").read_text().splitlines()[2]
    step = identity_step(entry(person))
    assert step is not None
    (command,) = step.commands
    assert secret.encode() in command.stdin
    assert command.env == {}
    assert secret not in repr(step) + repr(command.argv) + step.content


def test_another_content_of_a_key_is_another_step(person: Path) -> None:
    before, again = identity_step(entry(person)), identity_step(entry(person))
    asyncssh.generate_private_key("ssh-ed25519").write_private_key(person / ".ssh/my_key")
    after = identity_step(entry(person))
    assert before is not None
    assert again is not None
    assert after is not None
    assert before.content == again.content != after.content


def test_a_key_that_is_missing_later_is_named(person: Path) -> None:
    spec = entry(person)
    (person / ".ssh/my_key").unlink()
    with pytest.raises(InvalidInputError) as caught:
        identity_step(spec)
    assert str(caught.value) == (
        f"ssh.identities[0].private_key: the key file {person}/.ssh/my_key is not there: correct "
        "its path"
    )


def test_a_job_that_names_no_keys_does_not_depend_on_taking_out_old_ones(person: Path) -> None:
    named, none = identity_step(entry(person)), identity_step(spec_of())
    assert named is not None
    assert none is not None
    assert (named.required, none.required) == (True, False)


def test_hosts_that_are_folders_here_get_nothing(person: Path) -> None:
    assert identity_step(SPEC) is None
    identity = {"private_key": str(person / "missing")}
    assert identity_step(spec_of(identity, cloud="local")) is None
