"""How a host without gcsfuse gets it, with stand-ins for what would change the machine."""

from pathlib import Path
from typing import Any

import pytest
from tests.plugins.gcsfuse.conftest import FolderHost, Said, spec_of

from jobman_core.command import Command
from jobman_gcsfuse import Gcsfuse

SECTION = {"bucket_name": "my-bucket", "mount_path": "gcs"}
#: Writes its arguments down, and becomes root for nobody.
SUDO = """#!/bin/bash
shift $(($# > 0 && 1))
[[ $1 != -- ]] || shift
case $1 in
    true) ;;
    *) echo "sudo $*" >> "$HOME/asked" ;;
esac
[[ $1 != tee ]] || cat >> "$HOME/list"
[[ $1 != env ]] || exec "$@"
"""
CURL = """#!/bin/bash
while (($#)); do [[ $1 != --output ]] || echo key > "$2"; shift; done
"""


def apt(*cases: str) -> str:
    """Give an apt-get that does, or fails, as the cases say."""
    return "\n".join(
        [
            "#!/bin/bash",
            "while [[ $1 == -* ]]; do [[ $1 != -o ]] || shift; shift; done",
            'case "$*" in',
            *cases,
            '\'install gcsfuse\') : > "${0%/*}/gcsfuse"; chmod +x "${0%/*}/gcsfuse" ;;',
            "esac",
        ]
    )


@pytest.fixture
def install(storage: Gcsfuse, host: FolderHost) -> Any:
    """Give what runs the first command of a mount, as a user who is not root."""
    host.install("sudo", SUDO)
    host.install("curl", CURL)
    command = storage.mount(spec_of(SECTION))[0]
    # The one place that asks who runs it.
    script = command.stdin.replace(b"EUID == 0", b"1 == 0")
    return lambda: host.run(Command(command.argv, stdin=script))


def asked(host: FolderHost) -> list[str]:
    """List what was done as root."""
    return (host.home / "asked").read_text().splitlines()


def test_nothing_is_done_where_it_is_installed(host: FolderHost, install: Any) -> None:
    host.install("gcsfuse", "#!/bin/sh\n")
    assert install() == Said(0, "")
    assert not (host.home / "asked").exists()


def test_it_comes_from_googles_repository_with_its_own_key(host: FolderHost, install: Any) -> None:
    host.install("apt-get", apt())
    said = install()
    assert said.code == 0, said
    key = "/usr/share/keyrings/cloud.google.asc"
    first, second, *rest = asked(host)
    assert (first.split()[-1], second) == (key, "sudo tee /etc/apt/sources.list.d/gcsfuse.list")
    codename = os_release()["VERSION_CODENAME"]
    assert (host.home / "list").read_text() == (
        f"deb [signed-by={key}] https://packages.cloud.google.com/apt gcsfuse-{codename} main\n"
    )
    apt_get = "sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -y"
    waits = "-o DPkg::Lock::Timeout=600 -o Acquire::Retries=3"
    assert rest == [f"{apt_get} {waits} update", f"{apt_get} {waits} install gcsfuse"]


def os_release() -> dict[str, str]:
    lines = Path("/etc/os-release").read_text().splitlines()
    return dict(line.replace('"', "").split("=", 1) for line in lines if "=" in line)


@pytest.mark.parametrize(
    "told",
    [
        "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 812 (apt-get)",
        "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 9 (unattended-upgr)",
        "E: Failed to fetch https://packages.cloud.google.com/apt  Temporary failure resolving",
        "E: Failed to fetch http://mirror/x.deb  503  Service Unavailable [IP: 1.2.3.4 80]",
    ],
)
def test_a_lock_or_a_mirror_in_trouble_is_tried_again(
    host: FolderHost, install: Any, told: str
) -> None:
    host.install("apt-get", apt(f"update) echo '{told}' >&2; exit 100 ;;"))
    said = install()
    assert said.code == 75
    assert said.out.endswith(f"gcsfuse: apt-get update: {told}\n")


@pytest.mark.parametrize(
    ("says", "told"),
    [
        ("E: Unable to locate package gcsfuse", "E: Unable to locate package gcsfuse"),
        (
            "E: dpkg was interrupted, you must manually run things",
            "dpkg was interrupted: run `sudo dpkg --configure -a` on the host",
        ),
    ],
)
def test_what_does_not_pass_is_told_and_not_tried_again(
    host: FolderHost, install: Any, says: str, told: str
) -> None:
    host.install("apt-get", apt(f"'install gcsfuse') echo '{says}' >&2; exit 100 ;;"))
    said = install()
    assert said.code == 1
    assert said.out.endswith(f"gcsfuse: apt-get install: {told}\n")


def test_a_key_that_cannot_be_had_now_is_tried_again(host: FolderHost, install: Any) -> None:
    told = "curl: (28) Connection timed out after 60001 milliseconds"
    host.install("apt-get", apt())
    host.install("curl", f"#!/bin/sh\necho '{told}' >&2\nexit 28\n")
    said = install()
    assert said.code == 75
    assert told in said.out


def test_whoever_may_not_become_root_is_told(host: FolderHost, install: Any) -> None:
    host.install("apt-get", apt())
    host.install("sudo", "#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n")
    said = install()
    assert said.code == 1
    assert "sudo is refused: install it in tpu.startup_script" in said.out


def test_nothing_is_installed_on_the_machine_of_a_local_slice(
    storage: Gcsfuse, host: FolderHost
) -> None:
    host.install("apt-get", "#!/bin/sh\n: > $HOME/asked\n")
    said = host.run(storage.mount(spec_of(SECTION, cloud="local"))[0])
    assert said.code == 1
    assert "it is not installed on this machine: install it" in said.out
    assert not (host.home / "asked").exists()
