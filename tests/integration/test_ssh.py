"""``jobman ssh`` on hosts of a local slice."""

import os
import subprocess
import sys

import pytest
from tests.integration.test_terminal import read_until
from tests.support.lab import Lab

pytestmark = pytest.mark.e2e


def held(lab: Lab, *, accelerator: str = "v4-8") -> str:
    """Give a job that holds its slice."""
    job = lab.create(lab.job(cmd=None, accelerator=accelerator))
    lab.until_status(job, "IDLE")
    return job


def test_a_command_ends_as_it_did_there_and_its_arguments_arrive_as_they_are(lab: Lab) -> None:
    job = held(lab)
    done = lab.run("ssh", job, "--", "sh", "-c", 'echo "$1"; exit 7', "sh", "a  $b", code=7)
    assert (done.out, done.err) == ("a  $b\n", "")


def test_worker_chooses_the_host(lab: Lab) -> None:
    job = held(lab, accelerator="v4-16")
    where = [lab.run("ssh", job, "--worker", n, "--", "pwd").out.strip()[-8:] for n in ("0", "1")]
    assert where == ["/hosts/0", "/hosts/1"]
    done = lab.run("ssh", job, "--worker", "2", "--", "pwd", code=3)
    assert done.err == f"error: job {job} has no host 2: it has 0 to 1\n"


def test_a_shell_on_a_terminal(lab: Lab) -> None:
    job = held(lab)
    ours, theirs = os.openpty()
    try:
        argv = [sys.executable, "-m", "jobman_cli", "ssh", job]
        with subprocess.Popen(
            argv, stdin=theirs, stdout=theirs, stderr=theirs, env=lab.env, cwd=lab.root
        ) as shell:
            os.write(ours, b"echo it is $((6*7)); exit 5\n")
            read_until(ours, b"it is 42")
            assert shell.wait(20) == 5
    finally:
        os.close(ours)
        os.close(theirs)


def test_without_a_slice_there_is_nothing_to_enter(lab: Lab) -> None:
    job = lab.create(lab.job(cmd=None), "--no-start")
    done = lab.run("ssh", job, code=3)
    assert "has no slice that is ready" in done.err
    assert f"jobman show {job}" in done.err
