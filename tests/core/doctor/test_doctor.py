"""``doctor`` as a whole: with no home, with a broken one, and with one whose jobs need somebody."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest
from tests.core.ssh.conftest import make_key

from jobman_core import hookimpl
from jobman_core.app import App
from jobman_core.builtin import builtins
from jobman_core.home import Home
from jobman_core.interfaces.backend import Scope
from jobman_core.models.checkup import Checkup, Health
from jobman_core.plugins import Plugins
from jobman_core.testing.fakes import FakeCloud

JOB = """\
job: {name: job, loop: true, session: process}
tpu: {cloud: fake, accelerator: v4-8, zone: here}
command: {cmd: "sleep"}
"""


class Sick(FakeCloud):
    """A cloud that says what it was asked about."""

    scopes: ClassVar[list[Scope]] = []

    async def checkups(self, scope: Scope) -> Sequence[Checkup]:
        self.scopes.append(scope)
        return [Checkup.broken("credentials", "there are none", "run `fake login`")]


class World:
    def __init__(self, root: Path) -> None:
        self.home = Home(root)
        root.mkdir()
        Sick.scopes.clear()
        self.plugins = Plugins(builtins, disabled="tmux,screen,gcp")
        plugin = SimpleNamespace(jobman_clouds=hookimpl(lambda: [Sick]))
        self.plugins.add("fake", plugin, distribution="jobman-fake", version="9")

    async def examined(self, *files: Path, offline: bool = False) -> dict[str, dict[str, Checkup]]:
        async with App(self.home, user="ada", plugins=self.plugins) as app:
            found = await app.doctor(files, offline=offline)
        return {one.group: {each.name: each for each in one.checkups} for one in found}

    def write(self, text: str = JOB) -> Path:
        path = self.home.root / "job.yaml"
        path.write_text(text)
        return path

    async def create(self) -> str:
        """Make a home with a job that should run, and that nothing drives."""
        async with App(self.home, make=True, user="ada", plugins=self.plugins) as app:
            (created,) = await app.create(self.write(), start=False)
            hub = await app._ready()
            from jobman_core.interfaces.store import Note
            from jobman_core.models.job import Desired

            await hub.store.set_desired(created.job.id, Desired.RUNNING, Note("job.started", "x"))
            return created.job.id


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "home")


async def test_on_a_fresh_machine_all_is_looked_at_and_no_home_is_made(world: World) -> None:
    world.home.settings.write_text("cloud: fake\n")
    found = await world.examined()
    assert found["This home"]["home"].health is Health.WELL
    assert found["Cloud fake"]["credentials"].remedy == "run `fake login`"
    assert found["Plugins"]["jobman-fake"].health is Health.DOUBT
    assert not world.home.state.exists()


async def test_a_cloud_that_is_not_installed_is_broken_where_it_is_wanted(world: World) -> None:
    found = await world.examined()
    assert "install jobman-gcp" in str(found["Cloud gcp"])


async def test_settings_with_faults_are_told_and_the_rest_is_looked_at(world: World) -> None:
    world.home.settings.write_text("clowd: fake\nlease: soon\n")
    found = await world.examined()
    assert found["This home"]["settings"].health is Health.BROKEN
    assert "python" in found["This machine"]


async def test_a_damaged_database_is_told_and_left_as_it_is(world: World) -> None:
    await world.create()
    world.home.database.write_text("nothing of the kind")
    found = (await world.examined())["This home"]
    assert found["database"].health is Health.BROKEN
    assert found["jobs"].health is Health.UNKNOWN
    assert world.home.database.read_text() == "nothing of the kind"


async def test_a_home_of_another_machine_is_told_and_not_taken(world: World) -> None:
    await world.create()
    bond = world.home.state / "machine.json"
    bond.write_text('{"machine": "other", "name": "login-2"}')
    found = (await world.examined())["This home"]
    assert (found["opening it"].health, "login-2" in found["opening it"].text) == (
        Health.BROKEN,
        True,
    )
    assert "login-2" in bond.read_text()


async def test_a_job_that_nobody_drives_is_broken(world: World) -> None:
    job = await world.create()
    found = await world.examined()
    assert found["Jobs"]["controllers"].remedy == f"run `jobman resume {job}`"
    # Its cloud is asked as well, since the home has to do with it.
    assert found["Cloud fake"]["credentials"].health is Health.BROKEN


async def test_an_edited_file_of_a_job_that_should_run_is_read(world: World) -> None:
    config = world.home.config("ada", await world.create())
    plain, key = config.read_text(), config.with_name("key")
    make_key(key)
    config.write_text(f"{plain}ssh: {{private_key: {key}}}\n")
    assert (await world.examined())["Jobs"]["job files"].health is Health.WELL
    config.write_text(f"{plain}ssh: {{private_key: /nowhere/key}}\n")
    found = (await world.examined())["Jobs"]
    assert "no key file /nowhere/key" in found["ssh.private_key"].text
    config.write_text("job: {nam: a}\n")
    found = (await world.examined())["Jobs"]
    assert (found["job files"].health, str(config) in found["job files"].text) == (
        Health.BROKEN,
        True,
    )


async def test_offline_no_cloud_is_asked_for_its_slices(world: World) -> None:
    await world.create()
    found = await world.examined(offline=True)
    assert "orphans" not in found["Jobs"]
    assert [scope.offline for scope in Sick.scopes] == [True]


async def test_job_files_are_read_and_their_clouds_asked_about_them(world: World) -> None:
    path = world.write()
    found = await world.examined(path)
    assert found[str(path)]["job file"].health is Health.WELL
    (scope,) = Sick.scopes
    assert (scope.wanted, [spec.candidates[0].zone for spec in scope.specs]) == (True, ["here"])
    found = await world.examined(world.write(JOB.replace("v4-8", "v4-7")))
    assert found[str(path)]["job file"].health is Health.BROKEN
    assert "job.yaml:2" in found[str(path)]["job file"].text


async def test_a_key_that_a_job_file_names_is_looked_at(world: World, tmp_path: Path) -> None:
    (tmp_path / "key.pub").write_text("ssh-ed25519 AAAA ada\n")
    path = world.write(f"{JOB}ssh: {{private_key: {tmp_path / 'key'}}}\n")
    found = await world.examined(path)
    assert found[str(path)]["ssh.private_key"].health is Health.BROKEN
