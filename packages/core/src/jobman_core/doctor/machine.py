"""This machine: its programs, its clock, its temporary folder, and what ends controllers on it."""

import asyncio
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from jobman_core.doctor.asking import ask_all, said
from jobman_core.doctor.disks import Room, judge_room
from jobman_core.models.checkup import Checkup

_LEAST_PYTHON: Final = (3, 11)
_REBOOT: Final = "docs/after-a-reboot.md"
#: What ends processes, of logind.conf(5).
_LOGIND: Final = ("-p", "KillUserProcesses", "-p", "KillExcludeUsers")
#: What brings jobs back, as that page has it.
_TIMER: Final = "jobman-resume.timer"


async def machine(user: str) -> Sequence[Checkup]:
    """Look at all of it.

    Args:
        user: whose processes are to outlive a logout.
    """
    return await ask_all(
        ("python", _python()),
        ("git", _git()),
        ("temp folder", asyncio.to_thread(_temporary)),
        ("clock", _clock()),
        ("logout", _logout(user)),
        ("reboot", _reboot()),
    )


def judge_python(version: tuple[int, ...], path: str) -> Checkup:
    """Say whether this Python will do."""
    text = f"{'.'.join(map(str, version))} at {path}"
    if version < _LEAST_PYTHON:
        return Checkup.broken("python", text, "install jobman with Python 3.11 or later")
    return Checkup.well("python", text)


async def _python() -> Checkup:
    return judge_python(tuple(sys.version_info[:3]), sys.executable)


async def _git() -> Checkup:
    answer = await said("git", "--version")
    if answer is None or not answer.ok:
        told = "not there: of a folder that is shipped it tells which files are worth it"
        return Checkup.doubt("git", told, "install it (on Debian or Ubuntu: apt-get install git)")
    return Checkup.well("git", answer.tail(1).removeprefix("git version "))


def _temporary() -> Sequence[Checkup]:
    name = "temp folder"
    try:
        folder = Path(tempfile.gettempdir())
        with tempfile.TemporaryFile() as file:
            file.write(b"x")
    except OSError as error:
        remedy = "let TMPDIR name a folder that you can write to"
        return [Checkup.broken(name, f"it cannot be written: {error.strerror}", remedy)]
    return [judge_room(name, folder, Room.of(folder))]


async def _clock() -> Checkup | None:
    answer = await said("timedatectl", "show", "-p", "NTPSynchronized", "--value")
    if answer is None or not answer.ok:
        # A container has its machine's clock, and nobody to ask.
        return None
    return judge_clock(answer.tail(1))


def judge_clock(synchronized: str) -> Checkup:
    """Say whether the clock is kept in time (``NTPSynchronized`` of timedatectl(1))."""
    if synchronized == "no":
        remedy = "run `sudo timedatectl set-ntp true`"
        return Checkup.doubt("clock", "nothing keeps it in time with others", remedy)
    return Checkup.well("clock", "it is kept in time")


# -- what ends controllers -----------------------------------------------------------------


async def _logout(user: str) -> Checkup:
    answer = await said("loginctl", "show-session", *_LOGIND)
    if answer is None or not answer.ok:
        return Checkup.well("logout", "no systemd-logind here that would end what you started")
    return judge_logout(_pairs(answer.stdout.decode("utf-8", "replace")), user)


def judge_logout(settings: Mapping[str, str], user: str) -> Checkup:
    """Say whether controllers outlive a logout (``KillUserProcesses`` of logind.conf(5))."""
    excluded = user in settings.get("KillExcludeUsers", "").split()
    if settings.get("KillUserProcesses") != "yes" or excluded:
        return Checkup.well("logout", "controllers outlive it")
    remedy = (
        "run `loginctl enable-linger`, and start jobs by `systemd-run --user --scope --collect "
        f"--quiet jobman create job.yaml`: see {_REBOOT}"
    )
    return Checkup.doubt("logout", "systemd ends your controllers when you log out", remedy)


async def _reboot() -> Checkup:
    table = await said("crontab", "-l")
    timer = await said("systemctl", "--user", "is-enabled", _TIMER)
    linger = await said("loginctl", "show-user", str(os.getuid()), "-p", "Linger", "--value")
    return judge_reboot(
        table.stdout.decode("utf-8", "replace") if table else "",
        timer=timer is not None and timer.ok,
        lingers=linger is not None and linger.tail(1) == "yes",
    )


def judge_reboot(table: str, *, timer: bool, lingers: bool) -> Checkup:
    """Say whether anything brings jobs back after a reboot.

    Args:
        table: the user's crontab.
        timer: systemd's is switched on.
        lingers: it runs while nobody is logged in.
    """
    lines = [line for line in table.splitlines() if not line.lstrip().startswith("#")]
    if any("jobman" in line and "resume" in line for line in lines):
        return Checkup.well("reboot", "cron brings jobs back")
    if timer and lingers:
        return Checkup.well("reboot", "systemd brings jobs back")
    if timer:
        told = f"{_TIMER} begins only when you log in"
        return Checkup.doubt("reboot", told, "run `loginctl enable-linger`")
    told = "nothing brings jobs back by itself: until `jobman resume --all` they wait"
    return Checkup.doubt("reboot", told, f"take the two lines of crontab from {_REBOOT}")


def _pairs(text: str) -> Mapping[str, str]:
    return {key: value for key, _, value in (line.partition("=") for line in text.splitlines())}
