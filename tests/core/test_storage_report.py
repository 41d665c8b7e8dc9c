"""Which buckets a report is of, and what becomes of those that cannot be asked."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from jobman_core import hookimpl
from jobman_core.app import App
from jobman_core.builtin import builtins
from jobman_core.errors import InvalidInputError
from jobman_core.home import Home
from jobman_core.interfaces.storage import Storage
from jobman_core.plugins import Plugins
from jobman_core.testing.fake_storage import FakeStorage

if TYPE_CHECKING:
    from jobman_core.models.storage import BucketSize

JOB = """\
job: {name: mounts, session: process}
tpu: {cloud: local, accelerator: v4-8, zone: here}
command: {cmd: "true"}
fake: {bucket: BUCKET, mount_path: data}
"""


class Brings:
    """A plugin with a storage."""

    def __init__(self, storage: type[Storage]) -> None:
        self._storage = storage

    @hookimpl
    def jobman_storages(self) -> list[type[Storage]]:
        return [self._storage]


class Listing(FakeStorage):
    """Lists what lies beside the home."""

    async def buckets(self, project: str = "") -> list[str]:
        return sorted(map(str, (self.context.home.parent / "account").iterdir()))


class Closed(FakeStorage):
    """Whose list nobody may see."""

    async def buckets(self, project: str = "") -> list[str]:
        self.unlisted = "you may not list"
        return [*await super().buckets(project)]


def app_of(root: Path, storage: type[Storage]) -> App:
    plugins = Plugins(lambda: {**builtins(), "storage": Brings(storage)}, disabled="gcsfuse")
    return App(Home(root / "home"), make=True, user="ada", plugins=plugins)


def fill(folder: Path, size: int) -> str:
    (folder / "runs").mkdir(parents=True)
    (folder / "runs/model").write_bytes(b"x" * size)
    return str(folder)


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    (tmp_path / "home").mkdir()
    (tmp_path / "account").mkdir()
    async with app_of(tmp_path, Listing) as app:
        yield app


async def mount(app: App, root: Path, bucket: str) -> None:
    (root / "job.yaml").write_text(JOB.replace("BUCKET", bucket))
    await app.create(root / "job.yaml", start=False)


async def test_all_of_the_account_and_those_that_jobs_mount_the_largest_first(
    app: App, tmp_path: Path
) -> None:
    small, large = fill(tmp_path / "account/a", 10), fill(tmp_path / "account/b", 20)
    other = fill(tmp_path / "elsewhere", 15)
    await mount(app, tmp_path, other)
    await mount(app, tmp_path, large)
    assert [size.bucket for size in await app.storage()] == [large, other, small]


async def test_only_those_that_are_named(app: App, tmp_path: Path) -> None:
    bucket = fill(tmp_path / "account/a", 10)
    await mount(app, tmp_path, fill(tmp_path / "elsewhere", 15))
    heard: list[BucketSize] = []
    (size,) = await app.storage([bucket], exact=True, tell=heard.append)
    assert (size.total().bytes, [*size.folders()]) == (10, ["runs/"])
    assert heard == [size]


async def test_where_the_account_cannot_be_listed_mounted_buckets_are_shown(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    async with app_of(tmp_path, Closed) as app:
        bucket = fill(tmp_path / "elsewhere", 15)
        await mount(app, tmp_path, bucket)
        shown, refused = await app.storage()
    assert shown.bucket == bucket
    assert (refused.bucket, refused.trouble) == ("", "you may not list")


async def test_a_job_whose_file_has_faults_is_told_and_hides_no_other_bucket(
    app: App, tmp_path: Path
) -> None:
    await mount(app, tmp_path, fill(tmp_path / "elsewhere", 15))
    bucket = fill(tmp_path / "account/a", 10)
    (tmp_path / "home/jobs/ada/000001/config.yaml").write_text("job: [")
    shown, passed_over = await app.storage()
    assert shown.bucket == bucket
    assert passed_over.trouble.startswith("buckets of job 000001 are left out: ")


class Blind(FakeStorage):
    """Does not know what it holds."""

    measures = False


async def test_without_a_storage_that_knows_it_is_said_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    async with app_of(tmp_path, Blind) as app:
        await mount(app, tmp_path, fill(tmp_path / "bucket", 1))
        with pytest.raises(InvalidInputError, match="pip install jobman-gcsfuse"):
            await app.storage()
