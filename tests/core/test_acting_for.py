"""One process in which several people act, like a bot: each with their own rights and name."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jobman_core.app import App
from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.errors import NotYoursError
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context
from jobman_core.testing.fakes import FakeClock
from jobman_core.testing.store_contract.scene import Scene


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    """A bot's app, in a home with a job of ada's."""
    home = Home(tmp_path)
    home.state.mkdir(parents=True)
    store = SqliteStore(Context(tmp_path, "", FakeClock()))
    await store.open()
    await Scene(store).job(user="ada")
    await store.aclose()
    async with App(home, user="bot", clock=FakeClock()) as app:
        yield app


async def test_what_somebody_does_is_told_as_theirs(app: App) -> None:
    await app.acting_for("ada").cancel("1")
    told = (await app.show("1")).events[-1]
    assert (told.kind, told.text) == ("job.cancelled", "ada cancels it")


async def test_nobody_gets_at_the_jobs_of_others_by_way_of_a_bot(app: App) -> None:
    with pytest.raises(NotYoursError, match="belongs to ada"):
        await app.acting_for("eve").cancel("1")
    with pytest.raises(NotYoursError, match="belongs to ada"):
        await app.acting_for("eve").attach("1")
    assert [job.user for job in await app.acting_for("ada").list(mine=True)] == ["ada"]
    assert await app.acting_for("eve").list(mine=True) == []


async def test_an_admin_may_act_on_the_jobs_of_all_and_nobody_else_is_one_by_that(app: App) -> None:
    await app.acting_for("root", admin=True).cancel("1")
    assert (await app.show("1")).job.status == "CANCELLED"
    with pytest.raises(NotYoursError):
        await app.acting_for("root").delete("1")
    with pytest.raises(NotYoursError):
        await app.delete("1")


async def test_who_is_done_closes_nothing_for_the_others(app: App) -> None:
    async with app.acting_for("ada") as guest:
        assert len(await guest.list()) == 1
    assert len(await app.list()) == 1
    assert len(await app.acting_for("bob").list()) == 1


async def test_many_who_begin_at_once_share_one_open_home(app: App) -> None:
    lists = await asyncio.gather(*(app.acting_for(f"user{n}").list() for n in range(20)))
    assert [len(jobs) for jobs in lists] == [1] * 20
