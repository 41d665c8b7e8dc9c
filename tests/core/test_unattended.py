"""What ``resume --all`` brings back: what should run and does not, of whom one may act for."""

from pathlib import Path

import pytest

from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.home import Home
from jobman_core.hub import Hub
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import Note
from jobman_core.jobs import Jobs
from jobman_core.models.job import Desired
from jobman_core.models.settings import Settings
from jobman_core.models.task import QueueDefinition
from jobman_core.plugins import Plugins
from jobman_core.testing.fakes import FakeClock
from jobman_core.testing.store_contract.scene import Scene


def _read(_: Path) -> QueueDefinition:
    raise AssertionError("no queue is read here")


@pytest.mark.parametrize(
    ("user", "theirs"),
    [("ada", ["ada"]), ("bob", ["bob", "bob"]), ("eve", []), ("root", ["ada", "bob", "bob"])],
)
async def test_everybody_brings_back_their_own_jobs_and_an_admin_all(
    tmp_path: Path, user: str, theirs: list[str]
) -> None:
    clock, home = FakeClock(), Home(tmp_path)
    home.state.mkdir(parents=True)
    store = SqliteStore(Context(tmp_path, "", clock))
    await store.open()
    try:
        scene, owners = Scene(store), {}
        for owner in ("ada", "bob", "bob"):
            job = await scene.job(user=owner)
            await store.set_desired(job, Desired.RUNNING, Note("job.started", "starts"))
            owners[job] = owner
        settings = Settings(admins=("root",))
        hub = Hub(home, "home-1", user, settings, store, clock, Plugins, _read)
        assert [owners[job] for job in await Jobs(hub).unattended()] == theirs
    finally:
        await store.aclose()
