"""Programs on hosts that are not as they should be, and what is told of their ends."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.cloud import CloudLab, cloud_lab

from jobman_emulator.netns_hosts import NetnsHosts

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

MB = 2**20


@pytest.fixture
def small_disks(tmp_path: Path) -> Iterator[CloudLab]:
    """Give a home whose hosts may write 48 MB each."""
    with cloud_lab(tmp_path, hosts=lambda folder: NetnsHosts(folder, disk="48m")) as lab:
        yield lab


@pytest.mark.root
def test_f31_packages_that_one_host_locks_while_it_boots_are_installed_a_little_later(
    netns_cloud: CloudLab,
) -> None:
    """Of a command that installs what it needs; jobman itself installs nothing on hosts yet."""
    locks = """
        startup_script: |
          #!/bin/bash
          case $(hostname) in *-w-1)
            touch /run/at-boot
            exec python3 -c "
          import fcntl, os, time
          with open('/var/lib/dpkg/lock-frontend', 'w') as lock:
              fcntl.lockf(lock, fcntl.LOCK_EX)
              os.rename('/run/at-boot', '/run/locked')
              while os.path.exists('/run/locked'):
                  time.sleep(0.1)
          ";;
          esac
        """
    script = """
        while [ -e /run/at-boot ]; do sleep 0.1; done
        sudo -n apt-get -qq -y install coreutils || exit
        exec sleep 2
        """
    cloud = netns_cloud
    config = cloud.job(
        cmd=script, loop="true", accelerator="v4-16", tpu=locks, extra="max_restarts: 20\n"
    )
    job = cloud.create(config)
    cloud.until_output("jobs/*/*/logs/command_run_001_worker_1.log", "lock-frontend")
    cloud.until("its end is known", lambda: cloud.json("show", job)["attempts"][0]["outcome"])
    cloud.run("ssh", job, "--worker", "1", "--", "sudo", "-n", "rm", "/run/locked")
    cloud.until_status(job, "DONE")
    first, *_, last = cloud.json("show", job)["attempts"]
    assert (first["outcome"], first["exit_code"]) == ("failed", 100)
    assert (last["outcome"], last["exit_code"]) == ("succeeded", 0)
    assert cloud.json("show", job)["slice"]["generation"] == 1


@pytest.mark.root
@pytest.mark.parametrize("code", [0, 7])
def test_f34_a_program_whose_log_fills_the_disk_of_its_host_ends_as_it_says(
    small_disks: CloudLab, code: int
) -> None:
    cloud = small_disks
    script = f"""
        if [ $JOBMAN_WORKER_ID = 1 ]; then
            head -c 100000000 /dev/zero | tr '\\0' '\\n'
            ! echo more || exit 9
            exit {code}
        fi
        echo fine
        """
    job = cloud.create(cloud.job(cmd=script, accelerator="v4-16"))
    cloud.until_status(job, "FAILED" if code else "DONE")
    (attempt,) = cloud.json("show", job)["attempts"]
    assert (attempt["cause"], attempt["exit_code"]) == ("exited", code)
    assert cloud.run("logs", job, "--worker", "0").out == "fine\n"
    # The host can still be entered, and says what is wrong with it.
    said = cloud.run("ssh", job, "--worker", "1", "--", "df", "--output=pcent", "/").out
    assert "100%" in said


def test_f36_a_failure_in_front_of_a_pipe_is_a_failure(cloud: CloudLab) -> None:
    job = cloud.create(cloud.job(cmd="false | tee out.log"))
    cloud.until_status(job, "FAILED")
    assert cloud.json("show", job)["attempts"][0]["exit_code"] == 1


def test_f39_the_end_of_a_run_is_known_behind_200_megabytes_of_output(cloud: CloudLab) -> None:
    line = "0123456789" * 10
    script = f"yes {line} | head -c {200 * MB}; echo; echo the end; exit 5"
    job = cloud.create(cloud.job(cmd=script, extra="pipefail: false\n"))
    cloud.until_status(job, "FAILED")
    assert cloud.json("show", job)["attempts"][0]["exit_code"] == 5
    (log,) = cloud.root.glob("jobs/*/*/logs/command_run_001_worker_0.log")
    assert log.read_bytes().endswith(b"\nthe end\n")
