"""Which process is which, and ending exactly that one."""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import attrs
import pytest

from jobman_core.errors import HeldError, JobmanError, NotFoundError
from jobman_core.process import (
    ProcessIdentity,
    Records,
    boot_id,
    end,
    machine_id,
    plain_name,
)


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(("sleep", "600")) as process:
        yield process
        process.kill()


def wait_for_state(identity: ProcessIdentity, state: str) -> None:
    deadline = time.monotonic() + 20
    while identity.state() != state:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_this_process_is_known() -> None:
    me = ProcessIdentity.of(os.getpid())
    assert me.state() == "alive"
    assert me == ProcessIdentity.of(os.getpid())
    assert me.boot_id == boot_id() == Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def test_an_identity_stays_over_an_exec() -> None:
    script = "read x; exec sh -c 'read x; :'"
    with subprocess.Popen(("sh", "-c", script), stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        before = ProcessIdentity.of(process.pid)
        process.stdin.write(b"go\n")
        process.stdin.flush()
        assert ProcessIdentity.of(process.pid) == before
        process.stdin.close()


def test_a_stopped_process_is_told_from_one_that_runs(child: subprocess.Popen[bytes]) -> None:
    identity = ProcessIdentity.of(child.pid)
    child.send_signal(signal.SIGSTOP)
    wait_for_state(identity, "stopped")
    child.send_signal(signal.SIGCONT)
    wait_for_state(identity, "alive")


def test_a_zombie_is_gone(child: subprocess.Popen[bytes]) -> None:
    identity = ProcessIdentity.of(child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert Path(f"/proc/{child.pid}").exists()
    assert identity.state() == "gone"
    child.wait()
    assert identity.state() == "gone"
    with pytest.raises(NotFoundError, match=str(child.pid)):
        ProcessIdentity.of(child.pid)


def test_a_name_with_parentheses_confuses_nobody(tmp_path: Path) -> None:
    program = tmp_path / ") Z 1 ("
    program.symlink_to("/bin/sleep")
    with subprocess.Popen((str(program), "600")) as process:
        assert ProcessIdentity.of(process.pid).state() == "alive"
        process.kill()


@pytest.mark.parametrize("change", [{"start": 1}, {"boot_id": "an earlier boot"}])
async def test_a_pid_that_was_given_to_another_is_not_signalled(
    child: subprocess.Popen[bytes], change: dict[str, int | str]
) -> None:
    older = attrs.evolve(ProcessIdentity.of(child.pid), **change)  # type: ignore[arg-type]
    assert older.state() == "gone"
    await end(older, 0)
    assert ProcessIdentity.of(child.pid).state() == "alive"
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0)


async def test_an_end_begins_with_term(child: subprocess.Popen[bytes]) -> None:
    await end(ProcessIdentity.of(child.pid), 20)
    assert child.wait() == -signal.SIGTERM


async def test_an_end_without_grace_is_a_kill(child: subprocess.Popen[bytes]) -> None:
    await end(ProcessIdentity.of(child.pid), 0)
    assert child.wait() == -signal.SIGKILL


async def test_a_stopped_process_is_killed_without_being_woken(
    child: subprocess.Popen[bytes],
) -> None:
    identity = ProcessIdentity.of(child.pid)
    child.send_signal(signal.SIGSTOP)
    wait_for_state(identity, "stopped")
    # With a grace that no test outlives.
    await end(identity, 600)
    assert child.wait() == -signal.SIGKILL


async def test_one_that_ignores_term_is_killed_after_the_grace() -> None:
    process = await asyncio.create_subprocess_exec(
        "sh", "-c", "trap '' TERM; echo; exec sleep 600", stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    await process.stdout.readline()
    await end(ProcessIdentity.of(process.pid), 0.1)
    assert await process.wait() == -signal.SIGKILL


async def test_what_is_gone_is_ended_already(child: subprocess.Popen[bytes]) -> None:
    identity = ProcessIdentity.of(child.pid)
    child.kill()
    child.wait()
    await end(identity, 20)


def test_the_machine_keeps_its_id_and_does_not_show_the_system_s() -> None:
    assert machine_id() == machine_id()
    with suppress(FileNotFoundError):
        assert Path("/etc/machine-id").read_text().strip() not in machine_id()


def test_names_become_file_names_that_differ() -> None:
    names = [
        "job-000001",
        "a.b",
        "a%2Eb",
        "a/b",
        "..",
        "",
        "é",
        "~",
        "x" * 300,
        "x" * 301,
        "\udcff",
    ]
    plain = [plain_name(name) for name in names]
    assert plain[0] == "job-000001"
    assert len(set(plain)) == len(names)
    assert all(len(name) < 200 and not set(name) & set("/.:~") for name in plain)


def test_a_damaged_record_is_an_error_and_not_a_dead_session(tmp_path: Path) -> None:
    records = Records(tmp_path)
    for content in (b"", b"{", b"[]", b"{}", b'{"pid": null, "start": 1, "boot_id": ""}', b"\xff"):
        records.path("s").write_bytes(content)
        with pytest.raises(JobmanError, match="damaged"):
            records.read("s")


def test_asking_for_a_record_makes_nothing(tmp_path: Path) -> None:
    assert Records(tmp_path / "home").read("s") is None
    assert not (tmp_path / "home").exists()


async def test_one_starts_or_ends_a_session_at_a_time(tmp_path: Path) -> None:
    first, second = Records(tmp_path), Records(tmp_path, patience=0.1)
    async with first.locked("s"):
        async with second.locked("other"):
            pass
        with pytest.raises(HeldError, match="'s'"):
            async with second.locked("s"):
                pytest.fail("both hold it")
    async with second.locked("s"):
        pass
