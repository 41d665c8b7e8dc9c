"""What becomes of a job's docker section, with no docker in sight."""

from typing import Any

import pytest
from tests.plugins.docker.machine import job

from jobman_core.command import Command
from jobman_core.models.attempt import SCRIPT
from jobman_core.plugins import Plugins
from jobman_docker import DockerEnvironment

PLAIN = Command(("bash", "-o", "pipefail", SCRIPT), env={"JOBMAN_JOB_ID": "000001"})


def arguments(command: Command) -> tuple[str, ...]:
    """Give what follows the script's own name."""
    assert command.argv[:2] == ("/bin/bash", "-c")
    assert command.argv[3] == "jobman-docker"
    return command.argv[4:]


def test_a_plain_section_gets_devices_and_the_host_s_network(docker: DockerEnvironment) -> None:
    assert arguments(docker.wrap(job(), None, PLAIN)) == (
        *("", "8", "", "", "0"),
        *("--init", "--env", "TINI_KILL_PROCESS_GROUP=1", "--privileged", "--network", "host"),
        *("jax:1", "bash", "-o", "pipefail", "{script}"),
    )


def test_all_keys_of_v3_have_their_place(docker: DockerEnvironment) -> None:
    spec = job(
        image="ghcr.io/lab/jax@sha256:0123",
        env_vars={"TOKEN": "s3cret", "MODE": "a b"},
        flags=["--shm-size=16g", "-v /data:/data", "--rm", "-it"],
        mount_dirs=["/mnt/disk", "~/gcs:/gcs:ro"],
        workdir="/work",
    )
    command = docker.wrap(spec, None, PLAIN)
    assert arguments(command) == (
        *("", "8", "", "/work", "2", "/mnt/disk:/mnt/disk", "~/gcs:/gcs:ro"),
        *("--env", "TOKEN", "--env", "MODE"),
        *("--init", "--env", "TINI_KILL_PROCESS_GROUP=1", "--privileged", "--network", "host"),
        *("--shm-size=16g", "-v", "/data:/data"),
        *("ghcr.io/lab/jax@sha256:0123", "bash", "-o", "pipefail", "{script}"),
    )
    assert command.env == {"JOBMAN_JOB_ID": "000001", "TOKEN": "s3cret", "MODE": "a b"}


def test_the_script_is_the_same_for_all(docker: DockerEnvironment) -> None:
    some = docker.wrap(job(), None, PLAIN)
    other = docker.wrap(job(image="$(id)", workdir="/'x"), "a/b:$(id)", PLAIN)
    assert some.argv[:4] == other.argv[:4]


def test_a_task_s_own_folder_goes_before_the_section_s(docker: DockerEnvironment) -> None:
    task = Command(PLAIN.argv, env=PLAIN.env, cwd="repo")
    command = docker.wrap(job(workdir="/work"), None, task)
    assert arguments(command)[3] == ""
    assert command.cwd == "repo"


@pytest.mark.parametrize("flag", ["--network=none", "--net bridge", "--network bridge"])
def test_a_network_of_the_user_s_takes_the_place_of_ours(
    docker: DockerEnvironment, flag: str
) -> None:
    given = arguments(docker.wrap(job(flags=[flag]), None, PLAIN))
    assert "host" not in given
    assert set(flag.split()) <= set(given)


def test_env_of_a_task_is_another_image_where_it_looks_like_one(docker: DockerEnvironment) -> None:
    given = arguments(docker.wrap(job(), "ghcr.io/lab/other:2", PLAIN))
    assert given[0] == ""
    assert "ghcr.io/lab/other:2" in given
    assert arguments(docker.setup(job(), "ghcr.io/lab/other:2")[0]) == ("ghcr.io/lab/other:2", "")


def test_env_of_a_task_that_is_a_plain_name_is_passed_over_with_a_note(
    docker: DockerEnvironment,
) -> None:
    given = arguments(docker.wrap(job(), "my_venv", PLAIN))
    assert given[0] == "env 'my_venv' names no image: runs in jax:1"
    assert "jax:1" in given


@pytest.mark.parametrize(
    ("section", "key", "said"),
    [
        ({"image": "-v"}, "image", "'-v' names no image"),
        ({"image": "a b"}, "image", "'a b' names no image"),
        ({"flags": ["--name mine"]}, "flags", "--name cannot be had"),
        ({"flags": ["--name=mine"]}, "flags", "--name cannot be had"),
        ({"flags": ["-d"]}, "flags", "-d cannot be had"),
        ({"flags": ["--restart=always"]}, "flags", "--restart cannot be had"),
        ({"flags": ["shm"]}, "flags", "'shm' is no flag"),
        ({"flags": ["--label 'x"]}, "flags", "close every quotation mark"),
        ({"mount_dirs": ["data"]}, "mount_dirs", "'data' is no folder to mount"),
        ({"mount_dirs": ["/data:inside"]}, "mount_dirs", "'/data:inside' is no folder"),
        ({"workdir": "work"}, "workdir", "'work' is no absolute path"),
        ({"env_vars": {"HOME": "/x"}}, "env_vars", "'HOME' cannot be set"),
        ({"env_vars": {"JOBMAN_X": "1"}}, "env_vars", "'JOBMAN_X' cannot be set"),
        ({"env_vars": {"a-b": "1"}}, "env_vars", "'a-b' cannot be set"),
    ],
)
def test_what_docker_would_refuse_is_a_fault_of_the_file(
    docker: DockerEnvironment, section: dict[str, Any], key: str, said: str
) -> None:
    (problem,) = docker.check(job(**section))
    assert problem.key == key
    assert said in problem.message


def test_a_good_section_has_no_faults(docker: DockerEnvironment) -> None:
    spec = job(
        image="us-docker.pkg.dev/p/r/i:v1",
        env_vars={"PATH": "/opt/bin"},
        flags=["--shm-size", "16g"],
        mount_dirs=["~", "~/a:/b", "/c"],
        workdir="~/x",
    )
    assert list(docker.check(spec)) == []


def test_the_distribution_brings_it() -> None:
    rows = [row for row in Plugins().rows() if row.name == "docker"]
    assert [(row.kind, row.distribution, row.error) for row in rows] == [
        ("environment", "jobman-docker", None)
    ]
