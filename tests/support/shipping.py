"""What is true of code that is shipped, whatever kind of hosts it goes to."""

import asyncio
import random
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from jobman_core.command import Command, Exit
from jobman_core.errors import CommandFailedError, HostUnreachableError
from jobman_core.interfaces.host import Host
from jobman_core.models.task import Code
from jobman_core.packing import Archive, list_folder, pack
from jobman_core.run.shipping import PART, ship

LIMIT = 60.0


async def said(host: Host, script: str, *args: str) -> str:
    """Give what a few lines of shell say on a host."""
    done = await host.run(Command(("sh", "-c", script, "sh", *args)), limit=LIMIT)
    assert done.ok, done
    return done.stdout.decode()


class Watched(Host):
    """A host whose commands are counted, and of which some do not get through."""

    def __init__(self, host: Host) -> None:
        self.index = host.index
        self.facts = host.facts
        self._host = host
        self.sent: list[int] = []
        #: The link breaks in the middle of what is sent, so often.
        self.breaks = 0
        #: Acts before a command.
        self.before: Callable[[Command], Awaitable[None]] | None = None

    async def run(self, command: Command, *, limit: float) -> Exit:
        if self.before is not None:
            await self.before(command)
        self.sent.append(len(command.stdin))
        if command.stdin and self.breaks:
            self.breaks -= 1
            half = command.stdin[: len(command.stdin) // 2]
            part = Command(command.argv, stdin=half, transient=command.transient)
            await self._host.run(part, limit=limit)
            msg = f"host {self.index}: the link dropped"
            raise HostUnreachableError(msg)
        return await self._host.run(command, limit=limit)

    async def put(self, content: bytes, path: str, *, mode: int = 0o600) -> None:
        await self._host.put(content, path, mode=mode)


class ShippingContract:
    """Subclass it with a fixture ``hosts`` that gives two hosts with new home folders."""

    @pytest.fixture
    @abstractmethod
    def hosts(self) -> Sequence[Host]:
        """Give two hosts."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        """Give a small folder with what may be lost on the way."""
        folder = tmp_path / "project"
        (folder / "deep").mkdir(parents=True)
        (folder / "run.sh").write_text("#!/bin/sh\necho ran\n")
        (folder / "run.sh").chmod(0o755)
        (folder / "deep/it's $HOME").write_text("odd\n")
        (folder / "link").symlink_to("deep")
        return folder

    @pytest.fixture
    def archive(self, folder: Path, tmp_path: Path) -> Archive:
        """Give what is packed of it."""
        return pack(list_folder(Code(str(folder), "x")), tmp_path / "archives")

    @pytest.fixture
    def large(self, tmp_path: Path) -> Archive:
        """Give an archive of several parts."""
        folder = tmp_path / "large"
        folder.mkdir()
        (folder / "noise").write_bytes(random.Random(1).randbytes(2 * PART + 12345))  # noqa: S311
        return pack(list_folder(Code(str(folder), "x")), tmp_path / "archives")

    async def test_comes_out_on_all_hosts_as_it_was(
        self, hosts: Sequence[Host], archive: Archive
    ) -> None:
        await ship(hosts, archive, "a/b", limit=LIMIT)
        for host in hosts:
            assert await said(host, "cd a/b && ./run.sh && cat link/it*") == "ran\nodd\n"
            assert await said(host, "ls -A a/b") == "deep\nlink\nrun.sh\n"
            assert await said(host, 'stat -c %a .jobman/code/"$1".tar.gz', archive.snapshot) == (
                "600\n"
            )

    async def test_each_time_it_is_unpacked_afresh(
        self, hosts: Sequence[Host], archive: Archive
    ) -> None:
        await said(hosts[0], "mkdir -p there/old; ln -s .. there/up; touch precious")
        await ship(hosts[:1], archive, "there", limit=LIMIT)
        await said(hosts[0], "cd there; echo changed > run.sh; touch more; chmod 0555 deep")
        await ship(hosts[:1], archive, "there/", limit=LIMIT)
        assert await said(hosts[0], "ls -A there; there/run.sh; ls precious") == (
            "deep\nlink\nrun.sh\nran\nprecious\n"
        )
        assert "ship.d" not in await said(hosts[0], "ls -A .jobman")

    async def test_a_host_that_has_it_is_asked_once_and_sent_nothing(
        self, hosts: Sequence[Host], archive: Archive
    ) -> None:
        first, second = map(Watched, hosts)
        await ship([first], archive, "there", limit=LIMIT)
        first.sent.clear()
        await ship([first, second], archive, "elsewhere", limit=LIMIT)
        assert first.sent == [0]
        assert second.sent == [0, archive.path.stat().st_size, 0, 0]

    async def test_after_a_broken_link_the_rest_is_sent(
        self, hosts: Sequence[Host], large: Archive
    ) -> None:
        host = Watched(hosts[0])
        host.breaks = 1
        with pytest.raises(HostUnreachableError, match="host 0: the link dropped"):
            await ship([host], large, "there", limit=LIMIT)
        assert host.sent == [0, PART]
        host.sent.clear()
        told: list[str] = []
        await ship([host], large, "there", limit=LIMIT, tell=told.append)
        assert told == ["sends 6.31 MB of code to host 0"]
        rest = large.path.stat().st_size - PART // 2
        assert host.sent == [0, PART, rest - PART, 0, 0]
        assert int(await said(hosts[0], "stat -c %s there/noise")) == 2 * PART + 12345

    async def test_two_who_send_the_same_at_once_do_no_harm(
        self, hosts: Sequence[Host], large: Archive
    ) -> None:
        both = [ship(hosts, large, "there", limit=LIMIT) for _ in range(2)]
        for error in await asyncio.gather(*both, return_exceptions=True):
            # Of two controllers one is gone by rights: its folder is not put in place later.
            assert error is None or "a newer attempt has begun" in str(error)
        again = [Watched(host) for host in hosts]
        await ship(again, large, "again", limit=LIMIT)
        for host in again:
            assert host.sent == [0]
            script = "cmp there/noise again/noise && ls .jobman/code | wc -l"
            assert await said(host, script) == "1\n"

    async def test_what_arrived_damaged_is_sent_anew(
        self, hosts: Sequence[Host], archive: Archive
    ) -> None:
        await said(
            hosts[0], 'mkdir -p .jobman/code; echo junk > .jobman/code/"$1".part', archive.snapshot
        )
        await ship(hosts[:1], archive, "there", limit=LIMIT)
        await said(hosts[0], 'echo junk > .jobman/code/"$1".tar.gz', archive.snapshot)
        await ship(hosts[:1], archive, "there", limit=LIMIT)
        assert await said(hosts[0], "there/run.sh") == "ran\n"

    async def test_a_host_that_damages_all_is_named(
        self, hosts: Sequence[Host], archive: Archive
    ) -> None:
        async def spoil(command: Command) -> None:
            if not command.stdin:
                await said(hosts[1], "for f in .jobman/code/*.*; do echo junk > $f; done; true")

        bad = Watched(hosts[1])
        bad.before = spoil
        with pytest.raises(CommandFailedError, match="host 1: code arrived damaged 2 times: check"):
            await ship([hosts[0], bad], archive, "there", limit=LIMIT)
        assert await said(hosts[0], "there/run.sh") == "ran\n"

    @pytest.mark.parametrize("workdir", ["../up", "a//b", "/etc", ".."])
    async def test_only_a_folder_below_the_home_is_taken(
        self, hosts: Sequence[Host], archive: Archive, workdir: str
    ) -> None:
        with pytest.raises(CommandFailedError, match="host 0: code cannot be put into workdir"):
            await ship(hosts[:1], archive, workdir, limit=LIMIT)

    async def test_what_stands_in_the_way_is_told(
        self, hosts: Sequence[Host], archive: Archive
    ) -> None:
        await said(hosts[0], "touch file")
        with pytest.raises(
            CommandFailedError, match=r"host 0: code could not be put .*File exists"
        ):
            await ship(hosts[:1], archive, "file/below", limit=LIMIT)
        await said(hosts[1], "mkdir -p .jobman; touch .jobman/code")
        with pytest.raises(CommandFailedError, match="host 1: code could not be written to"):
            await ship(hosts[1:], archive, "there", limit=LIMIT)

    @pytest.mark.root
    async def test_what_is_mounted_in_the_folder_is_not_touched(
        self, hosts: Sequence[Host], archive: Archive
    ) -> None:
        await said(hosts[0], "mkdir -p there/bucket && mount -t tmpfs none there/bucket")
        try:
            await said(hosts[0], "touch there/bucket/checkpoint")
            told = "host 0: code could not be put into ~/there: .*different device"
            with pytest.raises(CommandFailedError, match=told):
                await ship(hosts[:1], archive, "there", limit=LIMIT)
            assert await said(hosts[0], "ls there/bucket") == "checkpoint\n"
        finally:
            await said(hosts[0], "umount there/bucket")
        await ship(hosts[:1], archive, "there", limit=LIMIT)

    @pytest.mark.root
    async def test_what_is_mounted_in_the_folder_s_place_is_not_touched(
        self, hosts: Sequence[Host], archive: Archive
    ) -> None:
        await said(hosts[0], "mkdir there && mount -t tmpfs none there")
        try:
            await said(hosts[0], "touch there/checkpoint")
            told = "host 0: code could not be put into ~/there: something is mounted at ~/there"
            with pytest.raises(CommandFailedError, match=told):
                await ship(hosts[:1], archive, "there", limit=LIMIT)
            assert await said(hosts[0], "ls there") == "checkpoint\n"
        finally:
            await said(hosts[0], "umount there")

    async def test_old_archives_make_room(self, hosts: Sequence[Host], archive: Archive) -> None:
        script = (
            "mkdir -p .jobman/code; cd .jobman/code; for n in 1 2 3 4 5 6 7 8 9; do"
            ' touch -d "2001-01-0$n" $n.tar.gz; done; touch -d 2001-01-01 old.part'
        )
        await said(hosts[0], script)
        await ship(hosts[:1], archive, "there", limit=LIMIT)
        expected = sorted([*(f"{n}.tar.gz" for n in range(3, 10)), archive.path.name])
        assert (await said(hosts[0], "LC_ALL=C ls .jobman/code")).split() == expected
