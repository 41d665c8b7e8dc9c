"""What a job's own context makes of its ``ssh`` section and of a cloud that leaves hosts to SSH."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import attrs
import pytest
from tests.core.run.scene import Scene
from tests.core.ssh.conftest import make_key

from jobman_core.errors import PermanentCloudError
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.host import Host
from jobman_core.interfaces.store import Note
from jobman_core.models.attempt import Attempt
from jobman_core.models.slice import HostInfo, Slice, SliceIdentity
from jobman_core.models.task import Workers
from jobman_core.run.work import Work, plan_of
from jobman_core.ssh import Links
from jobman_core.ssh.hosts import SshHost
from jobman_core.testing.fakes import FakeCloud

pytestmark = pytest.mark.e2e


class Bare(FakeCloud):
    """A cloud that leaves its hosts to SSH."""

    def hosts(self, slice_: Slice) -> Sequence[Host] | None:  # type: ignore[override]
        return None


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with Scene(tmp_path / "home", remote_user="ann") as scene:
        scene.cloud = Bare(Context(tmp_path, "home-1", scene.clock))
        yield scene


def slice_of(scene: Scene) -> Slice:
    identity = SliceIdentity("job-1-g1", "here", "home-1", "ada", scene.job, 1)
    return Slice(scene.job, 1, scene.spec.candidates[0], identity, scene.clock.now())


async def test_a_slice_is_told_whose_keys_to_let_in_and_the_books_are_not(
    scene: Scene, tmp_path: Path
) -> None:
    public = make_key(tmp_path / "key")
    section = {"private_key": str(tmp_path / "key")}
    scene.spec = attrs.evolve(scene.spec, sections={"ssh": section})
    async with scene.acting() as ctx:
        slice_ = slice_of(scene)
        await ctx.store.open_slice(ctx.lease, slice_, Note("slice.requested", "asks"))
        await ctx.create(slice_)
    asked = scene.cloud.slices["job-1-g1"].request
    assert asked.public_keys == (f"ann:{public}",)
    assert asked == scene.spec.candidates[0]
    (kept,) = await scene.store.slices(scene.job)
    assert kept.request.public_keys == ()


async def test_without_a_key_nothing_is_asked_of_the_cloud(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "dot-ssh").mkdir()
    async with scene.acting() as ctx:
        ctx.links = Links({"PATH": "/usr/bin"}, tmp_path / "dot-ssh")
        with pytest.raises(PermanentCloudError, match="ssh-keygen"):
            await ctx.create(slice_of(scene))
    assert scene.cloud.slices == {}


async def test_hosts_are_those_of_the_slice_as_it_stands(scene: Scene) -> None:
    async with scene.acting() as ctx:
        slice_ = slice_of(scene)
        assert ctx.hosts(slice_) == []
        ready = attrs.evolve(slice_, hosts=(HostInfo(0, "192.0.2.1"), HostInfo(1, "192.0.2.2")))
        hosts = ctx.hosts(ready)
        assert [(type(host), host.index) for host in hosts] == [(SshHost, 0), (SshHost, 1)]
        # Who connects is remembered with the host: another object would begin anew.
        assert ctx.hosts(attrs.evolve(ready, detail="healthy")) is hosts


def test_programs_are_told_the_addresses_that_hosts_reach_each_other_by(scene: Scene) -> None:
    hosts = (HostInfo(0, "192.0.2.1", "10.0.0.1"), HostInfo(1, "192.0.2.2"))
    slice_ = attrs.evolve(slice_of(scene), hosts=hosts)
    attempt = Attempt("token", scene.job, 1, 1, "run", scene.clock.now(), hosts=(0, 1))
    work = Work("job", "true", Workers("all"), None, None, None, None, Path(), "log", None)
    plan = plan_of(work, attempt, scene.spec, slice_, None)
    assert plan.command.env["JOBMAN_WORKER_IPS"] == "10.0.0.1,192.0.2.2"
