"""What is seen of a job's edited file, and of the file that it was created from."""

import stat
from collections.abc import AsyncIterator
from pathlib import Path

import attrs
import pytest

from jobman_core import hookimpl
from jobman_core.app import App
from jobman_core.builtin import builtins
from jobman_core.edits import Edits
from jobman_core.errors import CommandFailedError, ConfigError, InvalidInputError
from jobman_core.home import Home
from jobman_core.hub import Hub
from jobman_core.interfaces.store import JobRecord
from jobman_core.models.notice import Audience, NotifyRule
from jobman_core.models.slice import HostInfo, Slice, SliceIdentity, SlicePhase, SliceRequest
from jobman_core.plugins import Plugins
from jobman_core.testing.fake_environment import FakeEnvironment
from jobman_core.testing.fake_session import FakeSession
from jobman_core.testing.fake_storage import FakeStorage

TEXT = """\
job:
  name: job
  session: process
  environment: {A: one}
  loop: false
tpu: {cloud: local, accelerator: v4-8, zone: here, zones: [there]}
"""


@attrs.define
class Created:
    """A job that was created from a file, and not started."""

    app: App
    hub: Hub
    edits: Edits
    file: Path
    config: Path
    job: str

    async def record(self) -> JobRecord:
        return await self.hub.store.record(self.job)

    async def with_slice(self, accelerator: str = "v4-8", zone: str = "here") -> JobRecord:
        """Give the job as it is with a slice that is ready."""
        request = SliceRequest("local", accelerator, zone, runtime="tpu-ubuntu2204-base")
        identity = SliceIdentity("job-1-g1", zone, "home", "ada", self.job, 1)
        record = await self.record()
        slice_ = Slice(self.job, 1, request, identity, record.job.created_at, "READY")
        ready = attrs.evolve(slice_, phase=SlicePhase.READY, hosts=(HostInfo(0, "::1"),))
        return attrs.evolve(record, slice=ready)

    def edit(self, old: str, new: str) -> None:
        text = self.config.read_text()
        assert old in text
        self.config.write_text(text.replace(old, new))

    def change_original(self, old: str, new: str) -> None:
        text = self.file.read_text()
        assert old in text
        self.file.write_text(text.replace(old, new))


@pytest.fixture
async def created(tmp_path: Path) -> AsyncIterator[Created]:
    file = tmp_path / "job.yaml"
    file.write_text(TEXT)
    async with App(Home(tmp_path / "home"), make=True, user="ada") as app:
        (made,) = await app.create(file, start=False)
        hub = await app._ready()
        config = hub.home.config("ada", made.job.id)
        yield Created(app, hub, Edits(hub), file, config, made.job.id)


async def test_a_job_that_nobody_touched_has_no_change_and_no_news(created: Created) -> None:
    record = await created.record()
    assert await created.edits.read(record) is None
    assert list(created.edits.news(record.job)) == []
    origin = created.hub.home.origin("ada", created.job)
    assert stat.S_IMODE(origin.stat().st_mode) == 0o600


async def test_news_of_the_original_name_it_and_what_takes_it_in(created: Created) -> None:
    created.change_original("one", "two")
    (news,) = created.edits.news((await created.record()).job)
    assert news == (
        f"{created.file}, which it was created from, has changed since: "
        f"`jobman reboot {created.job} --reload` takes it in"
    )
    created.file.write_text(TEXT)
    assert list(created.edits.news((await created.record()).job)) == []


async def test_an_original_that_is_elsewhere_is_no_news_and_cannot_be_taken_in(
    created: Created,
) -> None:
    created.file.rename(created.file.with_name("elsewhere.yaml"))
    record = await created.record()
    assert list(created.edits.news(record.job)) == []
    with pytest.raises(InvalidInputError, match="not there any more: put it back"):
        await created.edits.read(record, reload=True)


async def test_a_job_of_an_older_version_has_no_original(created: Created) -> None:
    created.hub.home.origin("ada", created.job).unlink()
    record = await created.record()
    assert list(created.edits.news(record.job)) == []
    with pytest.raises(InvalidInputError, match="nobody knows what file"):
        await created.edits.read(record, reload=True)


async def test_a_damaged_record_of_the_original_is_told_and_stops_no_start(
    created: Created,
) -> None:
    created.hub.home.origin("ada", created.job).write_text("{")
    record = await created.record()
    assert "origin.json cannot be read" in created.edits.news(record.job)[0]
    assert await created.edits.read(record) is None


async def test_who_is_told_of_a_job_may_be_changed_in_its_file(created: Created) -> None:
    assert (await created.record()).job.notify is None
    created.edit("loop: false", "loop: false\n  notify: nobody")
    await created.edits.take_in(await created.record())
    assert (await created.record()).job.notify == NotifyRule(Audience.NOBODY)
    created.edit("  notify: nobody\n", "")
    await created.edits.take_in(await created.record())
    assert (await created.record()).job.notify is None


async def test_reload_keeps_the_name_and_tells_what_edits_are_lost(created: Created) -> None:
    created.edit("A: one", "A: by hand")
    created.edit("loop: false", "loop: true")
    created.change_original("A: one", "A: two")
    # By hand it got the same value: nothing of that is lost.
    created.change_original("loop: false", "loop: true")
    created.change_original("name: job", "name: other")
    record = await created.record()
    change = await created.edits.read(record, reload=True)
    assert change is not None
    assert list(change.losses) == ["loses what was edited in its config.yaml: job.environment.A"]
    assert change.notes == ("job.name is passed over: the job keeps its name, job_000001",)
    await created.edits.take_in(record, change)
    assert 'name: "job_000001"' in created.config.read_text()
    assert "A: two" in created.config.read_text()
    record = await created.record()
    assert await created.edits.read(record) is None
    assert list(created.edits.news(record.job)) == []
    # All of that can be done again.
    again = await created.edits.read(record, reload=True)
    assert again is not None
    assert list(again.losses) == []


async def test_faults_of_the_original_are_told_and_nothing_is_written(created: Created) -> None:
    created.change_original("loop: false", "lop: true")
    before = created.config.read_text()
    with pytest.raises(ConfigError) as caught:
        await created.app.losses(created.job, reload=True)
    assert [(f.path, f.key) for f in caught.value.faults] == [(str(created.file), "job.lop")]
    assert created.config.read_text() == before


async def test_edits_that_are_no_yaml_are_lost_too(created: Created) -> None:
    created.config.write_text("{")
    change = await created.edits.read(await created.record(), reload=True)
    assert change is not None
    assert "no YAML" in change.losses[0]


@pytest.mark.parametrize(
    ("old", "new", "misfit"),
    [
        (
            "accelerator: v4-8",
            "accelerator: v4-16",
            "accelerator v4-16 now, and the slice has v4-8",
        ),
        ("zone: here", "zone: far", ""),
        ("zones: [there]", "pricing: spot", "zone here, pricing spot now, and the slice has there"),
        ("zone: here", "allocation_mode: queued-resources, zone: here", ""),
        ("loop: false", "loop: true", ""),
    ],
)
async def test_a_slice_fits_while_it_is_one_of_those_that_the_file_asks_for(
    created: Created, old: str, new: str, misfit: str
) -> None:
    created.edit(old, new)
    change = await created.edits.read(await created.with_slice(zone="there"))
    assert change is not None
    assert (misfit in change.misfit, bool(change.misfit)) == (True, bool(misfit))


async def test_where_nobody_is_asked_the_slice_is_kept_and_that_is_said(created: Created) -> None:
    created.edit("v4-8", "v4-16")
    change = await created.edits.read(await created.with_slice())
    assert change is not None
    (note,) = change.unasked
    assert note == f"it keeps its slice until that is lost, though {change.misfit}"


async def test_a_slice_that_is_not_ready_goes_anyway(created: Created) -> None:
    record = await created.with_slice()
    assert record.slice is not None
    pending = attrs.evolve(record.slice, phase=SlicePhase.PENDING)
    created.edit("v4-8", "v4-16")
    change = await created.edits.read(attrs.evolve(record, slice=pending))
    assert change is not None
    assert list(change.losses) == []


async def test_another_cloud_counts_only_once_the_old_one_has_its_slice_back(
    created: Created,
) -> None:
    record = await created.with_slice()
    created.edit("loop: false", "loop: true")
    change = await created.edits.read(record)
    assert change is not None
    elsewhere = attrs.evolve(change, draft=attrs.evolve(change.draft, cloud="gcp"))
    with pytest.raises(InvalidInputError, match="`jobman cancel 000001` gives it back"):
        await created.edits.take_in(record, elsewhere)
    assert (await created.record()).job.cloud == "local"


async def test_an_edit_that_leaves_what_the_job_runs_is_not_told_as_a_switch(
    created: Created,
) -> None:
    created.edit("{A: one}", "{A: two}")
    await created.edits.take_in(await created.record())
    told = [e.text for e in await created.hub.store.events(job=created.job)]
    assert told[-1] == "its edited file counts from now on: it holds its slice"


async def test_a_worker_number_that_was_edited_is_passed_over(created: Created) -> None:
    created.edit("loop:", "worker_num: 7\n  loop:")
    change = await created.edits.read(await created.record())
    assert change is not None
    assert "job.worker_num is passed over" in change.notes[0]


async def test_a_session_that_cannot_be_had_is_said_before_anything_is_ended(
    created: Created,
) -> None:
    class Missing(FakeSession):
        name = "gone"

        def missing(self) -> str | None:
            return "this machine has no gone: install it"

    class Plugin:
        @staticmethod
        @hookimpl
        def jobman_sessions() -> list[type[FakeSession]]:
            return [Missing]

    created.hub.plugins.add("gone", Plugin, distribution="gone")
    created.edit("session: process", "session: gone")
    with pytest.raises(CommandFailedError, match="no gone: install it"):
        await created.app.reboot(created.job)
    assert (await created.record()).job.session == "process"


async def test_a_plugin_that_is_gone_since_is_said_before_anything_is_ended(
    created: Created,
) -> None:
    class Plugin:
        @staticmethod
        @hookimpl
        def jobman_environments() -> list[type[FakeEnvironment]]:
            return [FakeEnvironment]

    created.hub.plugins.add("brief", Plugin, distribution="brief")
    created.edit("loop: false", "loop: false\n  env_type: fake")
    await created.edits.take_in(await created.record())
    async with App(Home(created.file.parent / "home"), user="ada") as later:
        with pytest.raises(ConfigError, match="no environment is called 'fake'"):
            await later.reboot(created.job)
    assert not [e for e in await created.hub.store.events(job=created.job) if "stop" in e.kind]


async def test_reload_packs_the_code_anew(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    program = tmp_path / "code" / "train.py"
    program.write_text("print(1)\n")
    file = tmp_path / "job.yaml"
    file.write_text(TEXT + f"code: {{path: {program.parent}}}\n")
    async with App(Home(tmp_path / "home"), make=True, user="ada") as app:
        (made,) = await app.create(file, start=False)
        hub = await app._ready()
        edits, config = Edits(hub), hub.home.config("ada", made.job.id)
        before = config.read_text()
        program.write_text("print(2)\n")
        record = await hub.store.record(made.job.id)
        change = await edits.read(record, reload=True)
        assert change is not None
        assert list(change.losses) == []
        await edits.take_in(record, change)
        snapshot = [
            [line for line in text.splitlines() if "snapshot" in line]
            for text in (before, config.read_text())
        ]
        assert len(snapshot[0]) == len(snapshot[1]) == 1
        assert snapshot[0] != snapshot[1]
        assert await edits.read(await hub.store.record(made.job.id)) is None


async def test_what_could_be_passed_over_at_create_does_not_stop_a_job_that_is_there(
    tmp_path: Path,
) -> None:
    class Plugin:
        @staticmethod
        @hookimpl
        def jobman_storages() -> list[type[FakeStorage]]:
            return [FakeStorage]

    plugins = Plugins(builtins)
    plugins.add("fake", Plugin, distribution="fake")
    (tmp_path / "bucket").mkdir()
    file = tmp_path / "job.yaml"
    file.write_text(TEXT + f"fake: {{bucket: {tmp_path}/bucket}}\n")
    async with App(Home(tmp_path / "home"), make=True, user="ada", plugins=plugins) as app:
        (made,) = await app.create(file, start=False)
        hub = await app._ready()
        config = hub.home.config("ada", made.job.id)
        config.write_text(config.read_text().replace("/bucket", "/gone"))
        change = await Edits(hub).read(await hub.store.record(made.job.id))
        assert change is not None
        (note,) = change.notes
        assert note.startswith(f"fake.bucket: there is no folder {tmp_path}/gone")
