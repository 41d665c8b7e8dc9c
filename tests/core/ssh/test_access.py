"""What OpenSSH is told of a host."""

from itertools import pairwise
from pathlib import Path

import pytest

from jobman_core.config.assemble import SSH_OURS
from jobman_core.errors import InvalidInputError
from jobman_core.ssh.access import Access, Target, literal, ssh_argv


def told(access: Access, folder: Path) -> dict[str, str]:
    """Give the settings that hold: of several the first."""
    target = Target("192.0.2.1", "train-g1-0", Path("/home/known_hosts"), strict=True)
    argv = ssh_argv(access.settings(folder), target, Path("/run/socket"), "true")
    found: dict[str, str] = {}
    for option, item in pairwise(argv):
        if option == "-o":
            name, _, value = item.partition("=")
            found.setdefault(name, value)
    assert argv[-3:] == ["--", "192.0.2.1", "true"]
    return found


def test_a_jobs_options_come_before_jobmans_defaults(tmp_path: Path) -> None:
    assert told(Access("ann"), tmp_path)["ConnectTimeout"] == "10"
    access = Access("ann", options={"ConnectTimeout": "30", "ProxyJump": "gateway"})
    seen = told(access, tmp_path)
    assert (seen["ConnectTimeout"], seen["ProxyJump"]) == ("30", "gateway")


def test_what_jobman_sets_itself_no_job_can_set(tmp_path: Path) -> None:
    plain = told(Access("ann", 22), tmp_path)
    changed = told(Access("ann", 22, options=dict.fromkeys(SSH_OURS, "x")), tmp_path)
    assert {name: changed[name] for name in plain} == plain
    defaults = {"ConnectTimeout", "LogLevel", "ServerAliveInterval", "ServerAliveCountMax"}
    own = {name.lower() for name in plain} - {name.lower() for name in defaults}
    assert own - SSH_OURS.keys() == {"controlpersist"}


def test_the_key_of_a_job_is_the_only_one_that_is_tried(tmp_path: Path) -> None:
    seen = told(Access("ann", private_key=Path("/keys/a b")), tmp_path)
    assert (seen["IdentityFile"], seen["IdentitiesOnly"]) == ('"/keys/a b"', "yes")


def test_without_one_those_of_the_users_folder_are_tried_gclouds_first(tmp_path: Path) -> None:
    assert "IdentityFile" not in told(Access("ann"), tmp_path)
    for name in ("google_compute_engine", "id_ed25519", "id_ed25519-cert", "other"):
        (tmp_path / f"{name}.pub").touch()
    settings = Access("ann").settings(tmp_path)
    assert [value for name, value in settings if name == "IdentityFile"] == [
        f'"{tmp_path}/google_compute_engine"',
        f'"{tmp_path}/id_ed25519"',
    ]
    assert "IdentitiesOnly" not in dict(settings)


def test_paths_are_taken_as_they_are_written() -> None:
    assert literal(Path('/100%/a "b"/c\\d')) == r'"/100%%/a \"b\"/c\\d"'
    with pytest.raises(InvalidInputError):
        literal(Path("/${HOME}/x"))
