"""Doing the same thing on many hosts at once."""

import asyncio
from pathlib import Path

import pytest

from jobman_core.command import Command
from jobman_core.errors import CommandFailedError, HostUnreachableError
from jobman_core.interfaces.host import Host
from jobman_core.run.hosts import on_all, on_each
from jobman_core.testing.fakes import FakeHost


@pytest.fixture
def hosts(tmp_path: Path) -> list[FakeHost]:
    return [FakeHost(index, tmp_path / str(index)) for index in range(4)]


async def test_all_hosts_work_at_the_same_time(hosts: list[FakeHost]) -> None:
    meeting = asyncio.Barrier(len(hosts))

    async def meet(host: Host) -> int:
        await meeting.wait()
        return host.index * 10

    assert await on_all(hosts, meet) == {0: 0, 1: 10, 2: 20, 3: 30}


async def test_the_first_error_names_its_host_and_counts_the_others(
    hosts: list[FakeHost],
) -> None:
    async def refuse(host: Host) -> None:
        if host.index in (1, 3):
            raise CommandFailedError("no space left")

    with pytest.raises(CommandFailedError, match=r"host 1: no space left \(failed too: host 3\)"):
        await on_all(hosts, refuse)


async def test_an_error_stays_of_its_own_kind(hosts: list[FakeHost]) -> None:
    hosts[2].away = "no route"
    with pytest.raises(HostUnreachableError, match=r"^host 2 cannot be reached: no route$"):
        await on_all(hosts, lambda host: host.run(Command(("true",)), limit=20))


async def test_what_came_of_it_is_known_of_each(hosts: list[FakeHost]) -> None:
    hosts[2].away = "no route"
    done = await on_each(hosts, lambda host: host.run(Command(("true",)), limit=20))
    assert isinstance(done[2], HostUnreachableError)
    assert [getattr(done[index], "code", None) for index in (0, 1, 3)] == [0, 0, 0]


async def test_a_bug_is_not_an_answer(hosts: list[FakeHost]) -> None:
    async def fail(host: Host) -> None:
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup):
        await on_all(hosts, fail)
