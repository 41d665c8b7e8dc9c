"""What of a job reaches its hosts, and how."""

from typing import Any

from tests.plugins.gcsfuse.conftest import spec_of

from jobman_core.command import Command
from jobman_core.models.attempt import SCRIPT
from jobman_gcsfuse import Gcsfuse

NASTY = "$(touch /tmp/x); '\"`"
SECTION: dict[str, Any] = {
    "bucket_name": "my-bucket",
    "mount_path": f"~/{NASTY}",
    "cache": {"dir": f"/mnt/{NASTY}", "prefix": f"echo {NASTY}"},
    "extra_mounts": [{"mount_path": "/data"}],
}


def scripts(commands: list[Command]) -> set[bytes]:
    """Give what shells read: the content of files, and what follows ``bash -c``."""
    inline = {c.argv[2].encode() for c in commands if c.argv[:2] == ("bash", "-c")}
    return {c.stdin for c in commands if c.stdin} | inline


def test_no_text_of_a_job_is_read_by_a_shell_but_its_own_scripts(storage: Gcsfuse) -> None:
    spec, plain = spec_of(SECTION), spec_of({"bucket_name": "b", "mount_path": "m"})
    own = {SECTION["cache"]["prefix"].encode()}
    assert scripts([*storage.mount(spec)]) - own == scripts([*storage.mount(plain)])
    assert scripts([*storage.unmount(spec)]) == scripts([*storage.unmount(plain)])
    assert storage.mounted(spec)[2] == storage.mounted(plain)[2]


def test_mounts_are_made_in_the_order_of_the_file_and_unmounted_the_other_way(
    storage: Gcsfuse,
) -> None:
    install, prefix, first, second = storage.mount(spec_of(SECTION))
    assert install.argv == ("bash", SCRIPT, "apt")
    assert prefix.argv == ("bash", "-o", "pipefail", SCRIPT)
    assert first.argv[:4] == ("bash", SCRIPT, "my-bucket", NASTY)
    assert second.argv[:4] == ("bash", SCRIPT, "my-bucket", "/data")
    pairs = ("my-bucket", NASTY, "my-bucket", "/data")
    assert storage.mounted(spec_of(SECTION))[4:] == pairs
    (unmount,) = storage.unmount(spec_of(SECTION))
    assert unmount.argv[4:] == (*pairs[2:], *pairs[:2])


def test_a_local_slice_lets_go_of_what_is_in_its_own_folders_alone(storage: Gcsfuse) -> None:
    (unmount,) = storage.unmount(spec_of(SECTION, cloud="local"))
    assert unmount.argv[4:] == ("my-bucket", NASTY)
    outside = {"bucket_name": "my-bucket", "mount_path": "/data"}
    assert storage.unmount(spec_of(outside, cloud="local")) == []


def test_of_the_jobs_environment_gcsfuse_gets_nothing_but_whose_credentials_to_use(
    storage: Gcsfuse,
) -> None:
    key = {"GOOGLE_APPLICATION_CREDENTIALS": "/key.json"}
    environment = {**key, "WANDB_API_KEY": "secret"}
    install, prefix, first, second = storage.mount(spec_of(SECTION, environment=environment))
    assert [c.env for c in (install, prefix, first, second)] == [{}, environment, key, key]
