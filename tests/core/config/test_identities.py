"""What ``ssh.identities`` of a job file may name, and what is said where it may not."""

import subprocess
from pathlib import Path

import asyncssh
import pytest

from jobman_core.config.identities import config_block, has_passphrase
from jobman_core.config.job import load_snapshot
from jobman_core.config.surroundings import Surroundings

from .conftest import Faults, Parse

JOB = """\
job: {name: train}
tpu: {accelerator: v4-8, zone: us-central2-b}
ssh:
"""


def identities(*entries: str, more: str = "") -> str:
    lines = "".join(f"    - {{{entry}}}\n" for entry in entries)
    return f"{JOB}{more}  identities:\n{lines}"


def test_a_key_file_that_is_not_there_is_refused_at_its_place(faults: Faults, person: Path) -> None:
    text = identities(
        "private_key: ~/.ssh/nope, public_key: ~/.ssh/my_key.pub",
        "private_key: ~/.ssh/my_key, public_key: ~/.ssh/nope.pub",
        more="  private_key: ~/.ssh/nope\n",
    )
    gone = f"the key file {person}/.ssh/nope"
    assert faults(text) == [
        f"4:16: ssh.private_key: {gone} is not there: correct its path",
        f"6:21: ssh.identities[0].private_key: {gone} is not there: correct its path",
        f"7:48: ssh.identities[1].public_key: {gone}.pub is not there: correct its path",
    ]


def test_a_key_that_an_agent_has_need_not_be_a_file(parse: Parse, person: Path) -> None:
    (person / ".ssh/my_key").unlink()
    assert parse(f"{JOB}  private_key: ~/.ssh/my_key\n").notes == ()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "is no file: correct its path"),
        (b"", "is no private key that OpenSSH reads: `ssh-keygen -t ed25519` makes one"),
        (b"-----BEGIN PRIVATE KEY-----\n\0", "is no private key that OpenSSH reads"),
        (b"PuTTY-User-Key-File-3: ssh-ed25519\n", "is in the format of PuTTY: `puttygen -O"),
        (b"ssh-ed25519 AAAA me@here\n", "is a public key: name the private one, {person}/key"),
    ],
)
def test_what_is_no_private_key_is_refused(
    faults: Faults, person: Path, content: bytes | None, said: str
) -> None:
    path = person / "key.pub"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    (fault,) = faults(identities("private_key: ~/key.pub"))
    assert fault.startswith("5:21: ssh.identities[0].private_key: ")
    assert f"{path} {said.format(person=person)}" in fault


def test_a_private_key_never_becomes_readable_for_all(faults: Faults, person: Path) -> None:
    (fault,) = faults(identities("private_key: ~/.ssh/my_key, public_key: ~/.ssh/my_key"))
    assert f"identities[0].public_key: {person}/.ssh/my_key is a private key" in fault


def test_what_is_no_public_key_is_refused(faults: Faults, person: Path) -> None:
    (person / "x.pub").write_text("hello\n")
    (fault,) = faults(identities("private_key: ~/.ssh/my_key, public_key: ~/x.pub"))
    assert "is no public key that OpenSSH reads: `ssh-keygen -y -f PRIVATE` tells" in fault


def test_a_key_that_cannot_be_read_is_refused(faults: Faults, person: Path) -> None:
    # Whom permissions do not stop, this does.
    (fault,) = faults(identities(f"private_key: ~/{'k' * 300}"))
    assert "cannot be read: File name too long" in fault


def test_two_keys_of_one_place_on_the_hosts_are_refused(
    faults: Faults, parse: Parse, person: Path, tmp_path: Path
) -> None:
    (tmp_path / "my_key").write_bytes((person / ".ssh/my_key").read_bytes())
    both = f"private_key: {tmp_path}/my_key", "private_key: ~/.ssh/my_key"
    (fault,) = faults(identities(*both))
    assert fault == (
        "6:21: ssh.identities[1].private_key: on the hosts its place, ~/.ssh/my_key, is that of "
        "ssh.identities[0].private_key already: give one of the files another name"
    )
    # One key may have two entries.
    parse(identities(both[1], both[1]))


@pytest.mark.parametrize("name", ["config", "authorized_keys", "authorized_keys2", "known_hosts"])
def test_a_key_takes_no_other_file_s_place(
    faults: Faults, person: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_bytes((person / ".ssh/my_key").read_bytes())
    (fault,) = faults(identities(f"private_key: {tmp_path}/{name}"))
    assert f"on the hosts ~/.ssh/{name} is not for keys" in fault


def test_entries_that_would_break_the_hosts_file_are_refused(faults: Faults, person: Path) -> None:
    text = 'private_key: ~/.ssh/my_key, config_entry: "Host a%s"'
    (nul,) = faults(identities(text % r"\0"))
    assert nul.startswith("5:50: ssh.identities[0].config_entry: a NUL")
    (mark,) = faults(identities(text % r"\n # <<< jobman <<<"))
    assert "config_entry: jobman marks its own lines with '# >>> jobman >>>' and" in mark


@pytest.mark.parametrize("kind", ["ed25519", "PEM", "PKCS8"])
def test_a_key_with_a_passphrase_is_told_of(parse: Parse, person: Path, kind: str) -> None:
    form = ["-t", "ed25519"] if kind == "ed25519" else ["-t", "rsa", "-b", "1024", "-m", kind]
    for name, phrase in (("locked", "hunter2"), ("open", "")):
        argv = ["ssh-keygen", "-q", *form, "-N", phrase, "-f", str(person / name)]
        subprocess.run(argv, check=True)
    (note,) = parse(identities("private_key: ~/open", "private_key: ~/locked")).notes
    assert note == (
        f"ssh.identities[1].private_key: {person}/locked has a passphrase, and on the hosts there "
        "is nobody to type it: bring a key without one"
    )


def test_no_content_breaks_the_look_for_a_passphrase() -> None:
    for content in (b"", b"-----BEGIN PRIVATE KEY-----\nA", b"\xff\n", b"b3BlbnNzaC1rZXktdjEA"):
        has_passphrase(content)


def test_a_job_that_exists_is_read_without_its_key_files(
    parse: Parse, person: Path, around: Surroundings, tmp_path: Path
) -> None:
    snapshot = tmp_path / "config.yaml"
    snapshot.write_text(parse(identities("private_key: ~/.ssh/my_key")).snapshot("1"))
    (person / ".ssh/my_key").unlink()
    spec = load_snapshot(snapshot, around)
    assert spec.sections["ssh"]["identities"] == [{"private_key": f"{person}/.ssh/my_key"}]


def test_where_hosts_are_folders_no_key_file_is_looked_for(parse: Parse, person: Path) -> None:
    text = identities("private_key: ~/nope").replace("zone:", "cloud: local, zone:")
    (note,) = parse(text).notes
    assert note.startswith("ssh is passed over")


def test_entries_follow_one_another_and_each_is_for_the_hosts_that_it_says() -> None:
    entries = [
        "Host 10.*\n  IdentityFile ~/.ssh/a\n",
        "# for all\r\nIdentityFile ~/.ssh/b\r\n",
        None,
        " \n",
        "# a remark\n\nmatch host=x\n  User git",
        "HostName y",
    ]
    section = {"identities": [{"private_key": "/k", "config_entry": entry} for entry in entries]}
    assert config_block(section).splitlines()[2:-2] == [
        *("Host 10.*", "  IdentityFile ~/.ssh/a"),
        *("Host *", "# for all", "IdentityFile ~/.ssh/b"),
        *("# a remark", "", "match host=x", "  User git"),
        *("Host *", "HostName y"),
    ]
    assert config_block({"identities": [{"private_key": "/k"}]}) == ""
    assert config_block({}) == ""


def test_the_kinds_of_keys_that_asyncssh_makes_are_all_known(parse: Parse, person: Path) -> None:
    for kind in ("ssh-rsa", "ecdsa-sha2-nistp256", "ssh-ed25519"):
        key = asyncssh.generate_private_key(kind)
        for form in ("openssh", "pkcs8-pem", "pkcs1-pem"):
            if form == "pkcs1-pem" and kind == "ssh-ed25519":
                continue
            key.write_private_key(person / "k", form)
            key.write_public_key(person / "k.pub")
            text = identities("private_key: ~/k, public_key: ~/k.pub")
            assert parse(text).notes == ()
