"""What ``doctor`` says of a machine: its programs, its clock, and what ends controllers on it."""

import asyncio
from pathlib import Path

import pytest

from jobman_core.doctor.asking import ask, said
from jobman_core.doctor.disks import Room, judge_room, quota
from jobman_core.doctor.machine import (
    judge_clock,
    judge_logout,
    judge_python,
    judge_reboot,
    machine,
)
from jobman_core.errors import ConfigError, Fault, PermanentCloudError, TransientCloudError
from jobman_core.models.checkup import Checkup, Health


def program(folder: Path, name: str, script: str) -> None:
    """Put a program on PATH."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be on a machine with no programs but those that are put into a folder."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_an_old_python_is_broken() -> None:
    assert judge_python((3, 12, 1), "/usr/bin/python").health is Health.WELL
    assert judge_python((3, 10, 4), "/usr/bin/python").health is Health.BROKEN


@pytest.mark.parametrize(
    ("free", "files", "health"),
    [
        (5 * 2**30, 10**6, Health.WELL),
        # btrfs counts no files
        (5 * 2**30, None, Health.WELL),
        (2**29, 10**6, Health.DOUBT),
        (2**20, 10**6, Health.BROKEN),
        (5 * 2**30, 500, Health.DOUBT),
        (5 * 2**30, 3, Health.BROKEN),
    ],
)
def test_a_disk_that_is_nearly_full_is_told_before_it_is_full(
    free: int, files: int | None, health: Health
) -> None:
    found = judge_room("disk", Path("/home/ada lab"), Room(free, files))
    assert found.health is health
    assert bool(found.remedy) is (health is not Health.WELL)
    assert "'/home/ada lab'" in found.remedy or not found.remedy


async def test_a_quota_that_is_used_up_is_broken_and_none_is_no_matter(bare: Path) -> None:
    assert await quota("quota") is None
    program(bare, "quota", "exit 0")
    assert await quota("quota") is None
    program(bare, "quota", "echo 'Over block quota on /home'; exit 1")
    found = await quota("quota")
    assert found
    assert (found.health, "/home" in found.text) == (Health.BROKEN, True)


def test_a_clock_that_nothing_keeps_in_time_is_a_doubt() -> None:
    assert judge_clock("yes").health is Health.WELL
    assert judge_clock("no").health is Health.DOUBT


def test_a_logout_that_ends_controllers_is_a_doubt_unless_one_is_excluded() -> None:
    kills = {"KillUserProcesses": "yes", "KillExcludeUsers": "root ada"}
    assert judge_logout(kills, "bob").health is Health.DOUBT
    assert "enable-linger" in judge_logout(kills, "bob").remedy
    assert judge_logout(kills, "ada").health is Health.WELL
    assert judge_logout({"KillUserProcesses": "no"}, "bob").health is Health.WELL


def test_after_a_reboot_something_has_to_bring_jobs_back() -> None:
    cron = "@reboot jobman -q resume --all\n"
    assert judge_reboot(cron, timer=False, lingers=False).health is Health.WELL
    assert judge_reboot(f"# {cron}", timer=False, lingers=False).health is Health.DOUBT
    assert judge_reboot("", timer=True, lingers=True).health is Health.WELL
    asleep = judge_reboot("", timer=True, lingers=False)
    assert (asleep.health, asleep.remedy) == (Health.DOUBT, "run `loginctl enable-linger`")


async def test_on_a_machine_with_nothing_all_is_told_and_nothing_fails(bare: Path) -> None:
    found = {each.name: each.health for each in await machine("ada")}
    assert found["git"] is Health.DOUBT
    assert found["logout"] is Health.WELL
    assert found["reboot"] is Health.DOUBT
    # Nobody is there to ask.
    assert "clock" not in found


async def test_what_systemd_and_cron_answer_is_understood(bare: Path) -> None:
    program(bare, "git", "echo git version 2.39.5")
    program(bare, "timedatectl", "echo no")
    program(bare, "loginctl", "echo KillUserProcesses=yes; echo KillExcludeUsers=root")
    program(bare, "crontab", "echo '*/5 * * * * jobman -q resume --all'")
    found = {each.name: each for each in await machine("ada")}
    assert found["git"].text == "2.39.5"
    assert found["clock"].health is Health.DOUBT
    assert found["logout"].health is Health.DOUBT
    assert found["reboot"].health is Health.WELL


async def test_a_temporary_folder_that_cannot_be_written_is_broken(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(bare / "nowhere"))
    found = {each.name: each for each in await machine("ada")}
    assert found["temp folder"].health is Health.BROKEN
    assert "TMPDIR" in found["temp folder"].remedy


# -- asking --------------------------------------------------------------------------------


async def test_whatever_becomes_of_a_look_is_told(bare: Path) -> None:
    async def fails(error: Exception) -> Checkup:
        raise error

    (late,) = await ask("slow", asyncio.sleep(60), limit=0.01)
    assert (late.name, late.health) == ("slow", Health.UNKNOWN)
    (away,) = await ask("x", fails(TransientCloudError("no route: it is tried again")))
    assert (away.health, away.remedy) == (Health.UNKNOWN, "it is tried again")
    (refused,) = await ask("x", fails(PermanentCloudError("no rights: ask for some")))
    assert refused == Checkup.broken("x", "no rights", "ask for some")
    (bug,) = await ask("x", fails(RuntimeError("boom")))
    assert (bug.health, "boom" in bug.text) == (Health.UNKNOWN, True)
    faults = ConfigError([Fault("a.yaml", n, 1, "k", "wrong") for n in (1, 2)])
    assert [each.health for each in await ask("x", fails(faults))] == [Health.BROKEN] * 2
    (shut,) = await ask("x", fails(PermissionError(13, "Permission denied", "/lab")))
    assert (shut.health, shut.text) == (
        Health.BROKEN,
        "/lab cannot be looked at: Permission denied",
    )
    assert await said("no-such-program") is None
