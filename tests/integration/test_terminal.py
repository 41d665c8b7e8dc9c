"""What only a terminal shows: a question, and Ctrl-C as its answer."""

import os
import subprocess
import sys

import pytest
from tests.support.lab import Lab

pytestmark = pytest.mark.e2e

#: Runs jobman as what its terminal's Ctrl-C is meant for.
_IN_FRONT = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "jobman_cli", *sys.argv[1:]])
"""


def read_until(terminal: int, text: bytes) -> bytes:
    """Give what a terminal shows up to a text."""
    shown = b""
    while text not in shown:
        shown += os.read(terminal, 4096)
    return shown


def test_ctrl_c_at_a_question_ends_at_once_and_does_nothing(lab: Lab) -> None:
    job = lab.create(lab.job(), "--no-start")
    ours, theirs = os.openpty()
    try:
        argv = [sys.executable, "-c", _IN_FRONT, "delete", job]
        with subprocess.Popen(
            argv,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=lab.env,
            cwd=lab.root,
            start_new_session=True,
        ) as delete:
            read_until(ours, b"[y/N] ")
            os.write(ours, b"\x03")
            # No Enter follows: a program that waits for one would wait for ever.
            assert delete.wait(20) == 130
        assert b"Traceback" not in read_until(ours, b"\n")
    finally:
        os.close(ours)
        os.close(theirs)
    assert [one["id"] for one in lab.json("list")] == [job]


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", "<&-"])
def test_a_closed_stream_is_nobody_who_listens(lab: Lab, closed: str) -> None:
    lab.create(lab.job(), "--no-start")
    script = f'exec "$@" {closed}'
    argv = ["sh", "-c", script, "sh", sys.executable, "-m", "jobman_cli", "list"]
    done = subprocess.run(argv, env=lab.env, cwd=lab.root, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
