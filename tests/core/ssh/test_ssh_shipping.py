"""Code is shipped to hosts behind a real sshd."""

import random
from pathlib import Path

import pytest
from tests.core.ssh.conftest import Scene
from tests.support.shipping import LIMIT, Watched, said

from jobman_core.command import Command
from jobman_core.errors import HostUnreachableError
from jobman_core.models.task import Code
from jobman_core.packing import list_folder, pack
from jobman_core.run.shipping import PART, ship

pytestmark = pytest.mark.e2e


async def test_a_machine_that_is_gone_for_a_while_is_sent_the_rest(
    scene: Scene, tmp_path: Path
) -> None:
    folder = tmp_path / "it's large"
    folder.mkdir()
    (folder / "noise").write_bytes(random.Random(1).randbytes(2 * PART))  # noqa: S311
    archive = pack(list_folder(Code(str(folder), "x")), tmp_path / "archives")
    hosts = [Watched(host) for host in scene.hosts()[:2]]

    async def be_gone(command: Command) -> None:
        if command.stdin and sum(hosts[0].sent) == PART:
            scene.machines[0].stop()
            hosts[0].before = None

    hosts[0].before = be_gone
    with pytest.raises(HostUnreachableError):
        await ship(hosts, archive, "a/b c", limit=LIMIT)
    scene.machines[0].start()
    for host in hosts:
        host.sent.clear()
    await ship(hosts, archive, "a/b c", limit=LIMIT)
    assert [sum(host.sent) for host in hosts] == [archive.path.stat().st_size - PART, 0]
    for host in hosts:
        assert await said(host, "sha256sum < 'a/b c/noise'") == await said(
            hosts[1], "sha256sum < 'a/b c/noise'"
        )
        assert await said(host, "stat -c %s 'a/b c/noise'") == f"{2 * PART}\n"
