"""A home that a group shares: who acts in it, on what, and whose word counts."""

import asyncio
import contextlib
import importlib
import os
import pkgutil
import re
import sqlite3
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import attrs
import pytest
from tests.support.accounts import ADA, BOB, EVE, GROUP, Account, shared_folder

import jobman_core
from jobman_core.app import App
from jobman_core.builtin import builtins
from jobman_core.config.settings import load_settings
from jobman_core.errors import ConfigError, NotYoursError
from jobman_core.home import Home
from jobman_core.models.task import Code
from jobman_core.packing import of_run
from jobman_core.plugins import Plugins
from jobman_core.process import ProcessIdentity, Records, Roster

pytestmark = [pytest.mark.root, pytest.mark.e2e]
_T = TypeVar("_T")

ROOT = Account(0, groups=())
JOB = "job: {name: %s, session: process}\ntpu: {cloud: local, accelerator: v4-8, zone: here}\n"


@attrs.frozen
class Shared(Home):
    """A home that a group shares, in this process."""

    plugins: Plugins

    async def act(self, who: Account, what: Callable[[App], Awaitable[_T]]) -> _T:
        """Do something as somebody's process would."""
        with who.acting():
            async with App(Home(self.root), make=True, plugins=self.plugins) as app:
                return await what(app)

    async def create(self, who: Account, name: str = "job") -> str:
        """Create a job that nobody starts."""
        path = self.root.parent / f"{name}.yaml"
        path.write_text(JOB % name, "utf-8")
        return (await self.act(who, lambda app: app.create(path, start=False)))[0].job.id

    def say(self, text: str) -> None:
        """Write the lab's settings."""
        self.settings.write_text(text, "utf-8")
        self.settings.chmod(0o644)


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Plugins:
    """Give the built-in plugins, with all loaded: others may not come to where Python lies."""
    for module in pkgutil.walk_packages(jobman_core.__path__, "jobman_core."):
        if not module.name.startswith(("jobman_core.testing", "jobman_core.__main__")):
            importlib.import_module(module.name)
    # What they import when it is first used.
    importlib.import_module("pathspec")
    plugins, root = Plugins(builtins), tmp_path_factory.mktemp("own")
    asyncio.run(_use_once(root, plugins))
    return plugins


async def _use_once(root: Path, plugins: Plugins) -> None:
    (root / "jobman.yaml").write_text("admins: [root]\n", "utf-8")
    (root / "job.yaml").write_text(JOB % "job", "utf-8")
    async with App(Home(root), make=True, plugins=plugins) as app:
        (made,) = await app.create(root / "job.yaml", start=False)
        await app.clean(made.job.id)


@pytest.fixture
def home(plugins: Plugins, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shared]:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nobody-has-any")
    with shared_folder() as folder:
        yield Shared(folder, plugins)


@pytest.mark.parametrize(("first", "second"), [(ADA, BOB), (BOB, ADA)])
async def test_whoever_comes_first_the_next_one_goes_on(
    home: Shared, first: Account, second: Account
) -> None:
    for who in (first, second, first):
        await home.create(who)
    jobs = await home.act(second, lambda app: app.list())
    assert [job.user for job in jobs] == [first.name, second.name, first.name]
    mine = await home.act(second, lambda app: app.list(mine=True))
    assert [job.id for job in mine] == ["000002"]


async def test_what_one_wrote_the_other_brings_into_the_database(home: Shared) -> None:
    await home.create(ADA)
    with ADA.acting():
        async with App(Home(home.root), plugins=home.plugins) as ada:
            await ada.cancel("1")
            assert home.database.with_name("jobman.db-wal").stat().st_size > 0
            with BOB.acting(), contextlib.closing(sqlite3.connect(home.database)) as db:
                assert db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() == (0, 0, 0)
            assert [job.status for job in await ada.list()] == ["CANCELLED"]
    await home.create(BOB)
    assert len(await home.act(ADA, lambda app: app.list())) == 2


async def test_nobody_acts_for_another_by_what_they_say_who_they_are(
    home: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await home.create(ADA)
    monkeypatch.setenv("USER", ADA.name)
    monkeypatch.setenv("LOGNAME", ADA.name)
    for order in (App.stop, App.cancel, App.delete, App.resume, App.reboot, App.clean):
        with pytest.raises(NotYoursError, match=f"job {job} belongs to {ADA.name}: ask them"):
            await home.act(BOB, lambda app, order=order: order(app, job))  # type: ignore[misc]


async def test_a_home_that_was_ones_own_is_shared_as_its_page_says(
    home: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chown(home.root, ADA.uid, ADA.uid)
    home.root.chmod(0o700)
    monkeypatch.setenv("USER", ADA.name)
    home.say("")
    os.chown(home.settings, ADA.uid, ADA.uid)
    hers = await home.create(ADA)
    with ADA.acting():
        home.logs(ADA.name, hers).joinpath("job.log").write_text("words", "utf-8")
    with pytest.raises(NotYoursError):
        await home.act(BOB, lambda app: app.list())

    _share(home.root)
    home.settings.chmod(0o640)

    monkeypatch.setenv("USER", "whoever")
    his = await home.create(BOB)
    jobs = await home.act(ADA, lambda app: app.list())
    assert [(job.id, job.user) for job in jobs] == [(hers, ADA.name), (his, BOB.name)]
    with BOB.acting():
        assert home.logs(ADA.name, hers).joinpath("job.log").read_text("utf-8") == "words"
        with pytest.raises(PermissionError):
            home.config(ADA.name, hers).read_text("utf-8")
    for who, job in ((BOB, hers), (ADA, his)):
        with pytest.raises(NotYoursError, match="belongs to"):
            await home.act(who, lambda app, job=job: app.stop(job))  # type: ignore[misc]
    await home.act(ADA, lambda app: app.clean(hers))
    assert not home.job(ADA.name, hers).exists()


def _share(root: Path) -> None:
    """Do what the page says that makes a group share a home."""
    text = (Path(__file__).parents[2] / "docs/lab.md").read_text("utf-8")
    (commands,) = re.findall(r"(?s)run as root, in the home:\n\n```bash\n(.*?)```", text)
    commands = commands.replace("chgrp -R lab", f"chgrp -R {GROUP}")
    subprocess.run(["sh", "-eu", "-c", commands], cwd=root, check=True)


def test_in_a_home_of_ones_own_people_are_told_apart_by_what_they_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USER", "carol")
    assert App(Home(tmp_path)).user == "carol"
    (tmp_path / "jobs" / ".jobman").mkdir(parents=True, mode=0o700)
    # A home that was there stays its owner's, whatever becomes of the folder that it lies in.
    tmp_path.chmod(0o2770)
    assert App(Home(tmp_path)).user == "carol"


async def test_who_is_not_in_the_group_is_told_so(
    home: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    await home.create(ADA)
    home.root.chmod(0o2775)
    monkeypatch.chdir(home.root)
    with EVE.acting():
        assert App.at(None).home == home.root
    with pytest.raises(NotYoursError, match="not open to uid40003: ask root to let you"):
        await home.act(EVE, lambda app: app.list())


async def test_an_admin_ends_what_is_anothers_and_runs_none_of_it(home: Shared) -> None:
    home.say(f"admins: [{BOB.name}]\n")
    job = await home.create(ADA)
    for order in (App.resume, App.reboot, App.run, App.attach):
        with pytest.raises(NotYoursError, match=f"with their account .*`sudo -u {ADA.name}`"):
            await home.act(BOB, lambda app, order=order: order(app, job))  # type: ignore[misc]
    assert (await home.act(BOB, lambda app: app.cancel(job))).status == "CANCELLED"
    assert (await home.act(BOB, lambda app: app.delete(job))).status == "DELETED"
    with pytest.raises(NotYoursError, match=f"{ADA.name} to remove, or for root"):
        await home.act(BOB, lambda app: app.clean(job))
    assert home.config(ADA.name, job).exists()
    await home.act(ADA, lambda app: app.clean(job))
    assert not home.job(ADA.name, job).exists()


async def test_root_is_an_admin_everywhere(home: Shared) -> None:
    job = await home.create(ADA)
    with pytest.raises(NotYoursError, match="with their account"):
        await home.act(ROOT, lambda app: app.resume(job))
    assert (await home.act(ROOT, lambda app: app.delete(job))).status == "DELETED"


async def test_only_who_owns_the_home_says_who_is_an_admin(home: Shared) -> None:
    await home.create(ADA)
    with BOB.acting():
        home.say(f"admins: [{BOB.name}]\n")
    with pytest.raises(ConfigError, match="uid40002 wrote it, and the shared home is root's"):
        load_settings(home)
    os.chown(home.settings, 0, 0)
    assert load_settings(home).admins == (BOB.name,)
    home.settings.chmod(0o664)
    with pytest.raises(ConfigError, match=r"others may write it, .*: `chmod 640` it"):
        load_settings(home)


async def test_nobody_is_told_settings_that_somebody_else_remembered(home: Shared) -> None:
    await home.create(ADA)
    home.say("admins: [uid0]\n")
    with ADA.acting():
        assert load_settings(home).admins == ("uid0",)
        kept = home.state / f"settings-{ADA.uid}.json"
        text = kept.read_text("utf-8")
    with BOB.acting():
        kept.unlink()
        kept.write_text(text.replace("uid0", BOB.name), "utf-8")
    with ADA.acting():
        assert load_settings(home).admins == ("uid0",)


async def test_a_folder_that_somebody_laid_in_anothers_place_is_not_used(home: Shared) -> None:
    await home.create(BOB)
    with BOB.acting():
        (home.root / "jobs" / ADA.name).mkdir()
    with pytest.raises(NotYoursError, match=f"jobs/{ADA.name} is {BOB.name}'s, and not"):
        await home.create(ADA)
    jobs = await home.act(ADA, lambda app: app.list())
    assert [job.user for job in jobs] == [BOB.name]


async def test_nobody_runs_a_job_whose_files_somebody_else_put_there(home: Shared) -> None:
    job = await home.create(ADA)
    with BOB.acting():
        # All may rename in the folder of jobs, and put there what they have made.
        (home.root / "jobs" / ADA.name).rename(home.root / "jobs" / "away")
        home.logs(ADA.name, job).mkdir(parents=True)
        home.config(ADA.name, job).write_text(JOB % "evil", "utf-8")
    for order in (App.resume, App.run, App.reboot):
        with pytest.raises(NotYoursError, match="with their account"):
            await home.act(ADA, lambda app, order=order: order(app, job))  # type: ignore[misc]


async def test_what_is_cleaned_is_a_jobs_own_folder_and_nothing_that_a_link_leads_to(
    home: Shared, tmp_path: Path
) -> None:
    job = await home.create(ADA)
    victim = tmp_path / job
    (victim / "thesis").mkdir(parents=True)
    with BOB.acting():
        (home.root / "jobs" / ADA.name).rename(home.root / "jobs" / "away")
        (home.root / "jobs" / ADA.name).symlink_to(tmp_path)
    with pytest.raises(NotYoursError, match=f"jobs/{ADA.name} is a link that {BOB.name} laid"):
        await home.act(ROOT, lambda app: app.clean(job))
    assert (victim / "thesis").is_dir()
    (home.root / "jobs" / ADA.name).unlink()
    with BOB.acting():
        (home.root / "jobs" / ADA.name).mkdir()
        (home.root / "jobs" / ADA.name / job).symlink_to(victim)
    with pytest.raises(NotYoursError, match=f"{job} is a link that {BOB.name} laid: remove it"):
        await home.act(ROOT, lambda app: app.clean(job))
    assert (victim / "thesis").is_dir()


async def test_the_process_that_drives_the_jobs_of_one_is_told_of_no_others(home: Shared) -> None:
    await home.create(ADA)
    hers, his = (Roster.of_home(home.root, each.uid) for each in (ADA, BOB))
    assert hers.log != his.log
    with ADA.acting():
        hers.add("job-000001", "000001")
    with BOB.acting():
        with pytest.raises(NotYoursError, match=r"shared-40001 is uid40001's, and not"):
            hers.add("job-000002", "000002")
        his.add("job-000002", "000002")
    assert [entry.job for entry in hers.entries().values()] == ["000001"]


async def test_what_one_packed_of_a_tasks_code_the_others_workers_ship(
    home: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where git looks for what its user likes.
    monkeypatch.setenv("HOME", "/nobody-has-any")
    await home.create(ADA)
    folder = home.root.parent / "code"
    folder.mkdir()
    (folder / "train.py").write_text("pass", "utf-8")
    code, now, shipped = Code(str(folder), "code"), datetime.now(UTC) + timedelta(minutes=1), []
    for who, run in ((ADA, "r1"), (BOB, "r1"), (BOB, "r2"), (ADA, "r2")):
        with who.acting():
            archive = of_run(home, run, code, now)
            shipped.append((archive.path, archive.path.read_bytes()))
    assert len(set(shipped)) == 1


async def test_nobody_ends_a_process_that_somebody_elses_record_names(home: Shared) -> None:
    await home.create(ADA)
    records = Records.of_home(home.root)
    me = ProcessIdentity.of(os.getpid())
    with ADA.acting():
        async with records.locked("job-000001"):
            pass
    with BOB.acting():
        path = records.path("job-000001")
        path.write_text(f'{{"pid": {me.pid}, "start": {me.start}, "boot_id": "{me.boot_id}"}}')
        path.chmod(0o644)
    with ADA.acting(), pytest.raises(NotYoursError, match="started by another user"):
        records.read("job-000001")
