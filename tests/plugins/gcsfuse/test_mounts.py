"""Buckets on a host: real FUSE, by the scripts of the storage."""

import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import pytest
from tests.plugins.gcsfuse.conftest import FolderHost, Said, spec_of
from tests.support.buckets import BucketServer

from jobman_core.command import Command
from jobman_gcsfuse import Gcsfuse

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.fuse]

Install = Callable[[str], None]
ONE: Final[Mapping[str, Any]] = {"bucket_name": "my-bucket", "mount_path": "gcs"}
TWO: Final[Mapping[str, Any]] = {
    **ONE,
    "extra_mounts": [
        {"mount_path": "gcs cached"},
        {"bucket_name": "other", "mount_path": "~/gcs-other"},
    ],
}
#: What Linux says of a mount without a server.
UNCONNECTED: Final = "Transport endpoint is not connected"
CACHE: Final[Mapping[str, Any]] = {
    "metadata_ttl_secs": -1,
    "stat_cache_max_size_mb": -1,
    "type_cache_max_size_mb": -1,
    "file_cache_max_size_mb": 550000,
    "cache_file_for_range_read": True,
}


@pytest.fixture
def mount(storage: Gcsfuse, host: FolderHost, gcsfuse: Install) -> Callable[..., Said]:
    """Give what mounts by a section, with gcsfuse 3.5 unless another is installed."""
    return lambda section=ONE, **more: host.run_all(storage.mount(spec_of(section, **more)))


@pytest.fixture
def look(storage: Gcsfuse, host: FolderHost) -> Callable[..., Said]:
    """Give what asks whether all is mounted."""
    return lambda section=ONE: host.run(Command(storage.mounted(spec_of(section))))


Do = Callable[..., Said]


def test_what_a_program_writes_is_in_the_bucket_and_what_is_there_can_be_read(
    storage: Gcsfuse, host: FolderHost, buckets: BucketServer, mount: Do, look: Do
) -> None:
    said = mount(TWO)
    assert said.code == 0, said
    assert look(TWO) == Said(0, "")
    (host.home / "gcs/step 1").write_text("weights")
    assert (buckets.folder / "my-bucket/step 1").read_text() == "weights"
    assert (host.home / "gcs cached/step 1").read_text() == "weights"
    assert not (host.home / "gcs-other/step 1").exists()

    assert host.run_all(storage.unmount(spec_of(TWO))) == Said(0, "")
    assert host.mounts() == []
    gone = f"gs://my-bucket is not mounted at {host.home}/gcs\n"
    assert look(TWO) == Said(1, gone)
    assert host.run_all(storage.unmount(spec_of(TWO))) == Said(0, "")


def test_what_is_mounted_already_is_left_as_it_is(host: FolderHost, mount: Do) -> None:
    mount()
    servers = host.servers()
    assert mount() == Said(0, "")
    assert (host.servers(), len(host.mounts())) == (servers, 1)


def test_another_bucket_or_file_system_there_is_left_alone(
    storage: Gcsfuse, host: FolderHost, mount: Do, look: Do
) -> None:
    mount()
    other = {**ONE, "bucket_name": "other"}
    said = mount(other)
    assert said.code == 1
    assert f"my-bucket is mounted at {host.home}/gcs: unmount it, or take" in said.out
    assert "instead of gs://other" in look(other).out
    assert host.run_all(storage.unmount(spec_of(other))) == Said(0, "")
    assert len(host.mounts()) == 1

    (host.home / "scratch").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "scratch", host.home / "scratch"], check=True)
    scratch = {**ONE, "mount_path": "scratch"}
    assert "tmpfs of scratch is mounted" in mount(scratch).out
    assert host.run_all(storage.unmount(spec_of(scratch))) == Said(0, "")
    assert len(host.mounts()) == 2


def test_a_folder_with_files_of_its_own_is_not_hidden(host: FolderHost, mount: Do) -> None:
    (host.home / "gcs").mkdir()
    (host.home / "gcs/thesis").touch()
    told = f"gcsfuse: {host.home}/gcs has files of its own: empty it, or take another mount_path\n"
    assert mount() == Said(1, told)


def test_a_bucket_that_is_not_there_is_told_and_nothing_is_mounted(
    host: FolderHost, mount: Do
) -> None:
    said = mount({**ONE, "bucket_name": "nobodys"})
    assert (said.code, host.mounts()) == (1, [])
    assert said.out.endswith(
        f"gcsfuse: gs://nobodys cannot be mounted at {host.home}/gcs: "
        "Error: failed to mount: bucket nobodys: storage: bucket doesn't exist\n"
    )


def test_a_network_that_is_down_is_tried_again(host: FolderHost, mount: Do) -> None:
    told = "Error: dial tcp 142.250.1.2:443: i/o timeout"
    fails = f"echo '{told}'; exit 1"
    version = "[ $1 = --version ] && echo gcsfuse version 3.5.0 && exit"
    host.install("gcsfuse", f"#!/bin/sh\n{version}\n{fails}\n")
    said = mount()
    assert (said.code, told in said.out) == (75, True)


# -- mounts that died --------------------------------------------------------------------------


def test_a_mount_whose_server_was_killed_is_noticed_and_mounted_again(
    host: FolderHost, buckets: BucketServer, mount: Do, look: Do
) -> None:
    mount()
    host.signal_servers(signal.SIGKILL)
    # The kernel says the latter to whoever was under way.
    with pytest.raises(OSError, match=f"{UNCONNECTED}|Software caused connection abort"):
        list((host.home / "gcs").iterdir())
    dead = f"gs://my-bucket at {host.home}/gcs is dead: {UNCONNECTED}\n"
    assert look() == Said(1, dead)
    said = mount()
    assert said.code == 0, said
    assert f"is dead ({UNCONNECTED}): it is mounted again" in said.out
    assert (look(), len(host.mounts())) == (Said(0, ""), 1)
    (host.home / "gcs/after").write_text("alive")
    assert (buckets.folder / "my-bucket/after").read_text() == "alive"


def test_a_mount_that_hangs_holds_nobody_up_and_is_mounted_again(
    host: FolderHost, mount: Do, look: Do
) -> None:
    mount()
    host.signal_servers(signal.SIGSTOP)
    # It waits for an answer that never comes, until it is told that the mount is gone.
    reader = subprocess.Popen(["cat", host.home / "gcs/file"], stderr=subprocess.DEVNULL)
    begun = time.monotonic()
    hangs = f"gs://my-bucket at {host.home}/gcs is dead: it does not answer\n"
    assert look() == Said(1, hangs)
    assert time.monotonic() - begun < 9, "asked on hosts with a limit of ten seconds"
    said = mount()
    assert said.code == 0, said
    assert (look(), len(host.mounts())) == (Said(0, ""), 1)
    assert reader.wait(10) == 1


def test_a_mount_in_use_is_out_of_the_way_once_it_is_unmounted(
    storage: Gcsfuse, host: FolderHost, mount: Do
) -> None:
    mount()
    user = subprocess.Popen(["sleep", "100"], cwd=host.home / "gcs")
    try:
        assert host.run_all(storage.unmount(spec_of(ONE))).code == 0
        assert host.mounts() == []
    finally:
        user.kill()
        user.wait()


def run_script(host: FolderHost, script: str) -> Said:
    """Run a script as the content of a file, with no arguments."""
    return host.run(Command(("bash", "{script}"), stdin=script.encode()))


def test_the_solver_finds_a_dead_mount_and_its_remedy_mounts_it_again(
    storage: Gcsfuse, host: FolderHost, mount: Do, look: Do
) -> None:
    mount(TWO)
    problems = storage.problems(spec_of(TWO))
    names = ["mount gcs", "mount gcs cached", "mount gcs-other"]
    assert [(one.name, one.cheap) for one in problems] == [(name, True) for name in names]
    assert [run_script(host, one.check) for one in problems] == [Said(0, "")] * 3
    host.signal_servers(signal.SIGKILL)
    for one in problems:
        said = run_script(host, one.check)
        assert (said.code, said.out.count("\n")) == (1, 1), "one line says what is wrong"
        assert f"is dead: {UNCONNECTED}" in said.out
        assert one.remedy is not None
        assert run_script(host, one.remedy).code == 0
    assert look(TWO) == Said(0, "")


# -- caches and versions -----------------------------------------------------------------------


def test_the_script_of_a_cache_runs_before_its_mount_with_the_jobs_environment(
    host: FolderHost, mount: Do
) -> None:
    prefix = 'mkdir -p "$SIZE" && [ ! -e gcs ] && false | true'
    cache = {"dir": "1G", "prefix": prefix}
    section = {**ONE, "cache": cache}
    said = mount(section, environment={"SIZE": "1G"}, pipefail=False)
    assert said.code == 0, said
    assert (host.home / "1G").is_dir()
    assert mount(section, environment={"SIZE": "2G"}).code == 1, "gcs is there by now"


def test_a_new_gcsfuse_is_given_flags(host: FolderHost, mount: Do) -> None:
    said = mount({**ONE, "cache": {**CACHE, "dir": "/mnt/ram disk"}}, env_type="docker")
    assert said.code == 0, said
    assert host.options.read_text().splitlines() == [
        "--implicit-dirs",
        "--dir-mode=777",
        "--file-mode=777",
        "--o=allow_other",
        "--metadata-cache-ttl-secs=-1",
        "--stat-cache-max-size-mb=-1",
        "--type-cache-max-size-mb=-1",
        "--file-cache-max-size-mb=550000",
        "--file-cache-cache-file-for-range-read=true",
        "--cache-dir=/mnt/ram disk",
    ]


def test_an_older_one_is_given_a_configuration_file(
    host: FolderHost, mount: Do, gcsfuse: Install
) -> None:
    gcsfuse("2.4.1")
    said = mount({**ONE, "cache": {**CACHE, "dir": "/mnt/ram disk"}})
    assert said.code == 0, said
    *always, config = host.options.read_text().splitlines()
    assert always == ["--implicit-dirs", "--dir-mode=777", "--file-mode=777"]
    (file,) = host.home.glob(".jobman/gcsfuse-*.yaml")
    assert config == f"--config-file={file}"
    assert '"cache-dir": "/mnt/ram disk"' in file.read_text()


def test_one_from_before_that_is_given_the_flags_of_its_time(
    host: FolderHost, mount: Do, gcsfuse: Install
) -> None:
    gcsfuse("1.4.2")
    said = mount({**ONE, "cache": {"metadata_ttl_secs": 300}})
    assert said.code == 0, said
    assert host.options.read_text().splitlines()[3:] == [
        "--stat-cache-ttl=300s",
        "--type-cache-ttl=300s",
    ]


@pytest.mark.parametrize(
    ("version", "key", "value", "told"),
    [
        ("1.4.2", "dir", "/mnt/ram", "version 1.4 is installed: cache.dir needs 2.0"),
        (
            "2.3.1",
            "enable_parallel_downloads",
            True,
            "version 2.3 is installed: cache.enable_parallel_downloads needs 2.4",
        ),
    ],
)
def test_one_that_is_too_old_for_a_key_is_told_of(
    host: FolderHost, mount: Do, gcsfuse: Install, *, version: str, key: str, value: Any, told: str
) -> None:
    gcsfuse(version)
    said = mount({**ONE, "cache": {key: value}})
    assert said.code == 1
    assert f"gcsfuse: {told}: take the key out, or install a newer one" in said.out
    assert host.mounts() == []


def test_a_build_without_a_version_is_told_of(host: FolderHost, mount: Do) -> None:
    host.install("gcsfuse", "#!/bin/sh\necho gcsfuse version unknown\n")
    told = "gcsfuse: `gcsfuse --version` says gcsfuse version unknown: install a release of it\n"
    assert mount() == Said(1, told)
