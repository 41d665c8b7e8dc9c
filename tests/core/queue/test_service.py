import asyncio
import hashlib
import logging
import os
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import attrs
import pytest
from ruamel.yaml import YAML

from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.errors import ConfigError, Fault, HeldError, InvalidInputError, NotFoundError
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import Note, Store
from jobman_core.models.task import QueueDefinition
from jobman_core.queue import state_file, v3_state
from jobman_core.queue.lock import try_lock
from jobman_core.queue.service import QueueService
from jobman_core.testing.fakes import FakeClock
from jobman_core.testing.store_contract.scene import FAILED, SUCCEEDED, Scene, entry

NOTE = Note("task.reset", "reset")
V3 = "tasks:\n  a: {done: true, run_count: 2}\n  b: {run_count: 1}\n"


@attrs.define
class Reader:
    """Reads a made-up kind of tasks file: a name a line."""

    calls: int = 0
    #: Set it to let readings that wait go on.
    gate: threading.Event | None = None
    waits: threading.Event = attrs.field(factory=threading.Event)

    def __call__(self, path: Path) -> QueueDefinition:
        self.calls += 1
        if self.gate is not None:
            if not self.gate.is_set():
                self.waits.set()
            assert self.gate.wait(30)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise ConfigError([Fault(str(path), 0, 0, "", str(error.strerror))]) from error
        names = content.decode().split()
        if "BAD" in names or not names:
            raise ConfigError([Fault(str(path), 1, 1, "tasks", "bad: mend it")])
        digest = hashlib.sha256(content).hexdigest()
        return QueueDefinition(tuple(entry(name, max_retries=2) for name in names), digest)


@attrs.define
class Lab:
    """A home with a tasks file, and the processes that work on it."""

    folder: Path
    clock: FakeClock
    stores: list[Store] = attrs.field(factory=list)

    @property
    def tasks(self) -> Path:
        return self.folder / "tasks.yaml"

    @property
    def state(self) -> Path:
        return self.folder / "tasks_state.yaml"

    def write(self, text: str, *, age: float = 3600) -> None:
        """Save the tasks file, so many seconds ago."""
        self.tasks.write_text(text)
        moment = self.clock.now().timestamp() - age
        os.utime(self.tasks, (moment, moment))

    async def store(self, home: str = "home") -> Store:
        store = SqliteStore(Context(self.folder / home, "", self.clock))
        await store.open()
        self.stores.append(store)
        return store

    async def service(
        self, home: str = "home", *, reader: Reader | None = None, store: Store | None = None
    ) -> QueueService:
        store = store or await self.store(home)
        return QueueService(store, Home(self.folder / home), self.clock, reader or Reader())

    def shown(self) -> Any:
        return YAML(typ="safe", pure=True).load(self.state)

    def names(self) -> list[str]:
        return list(self.shown()["tasks"])


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    lab = Lab(tmp_path, FakeClock(auto=True))
    lab.write("a b")
    yield lab
    for store in lab.stores:
        await store.aclose()


async def test_a_queue_is_opened_with_its_tasks_and_state_file(lab: Lab) -> None:
    store = await lab.store()
    service = await lab.service(store=store)
    queue = await service.open(lab.tasks)
    assert queue.path == str(lab.tasks)
    assert [task.id for task in await store.tasks(queue.path)] == ["a", "b"]
    assert lab.names() == ["a", "b"]
    assert lab.shown()["home"] == await store.home_id()


async def test_a_link_to_a_tasks_file_is_the_same_queue(lab: Lab) -> None:
    service = await lab.service()
    link = lab.folder / "link.yaml"
    link.symlink_to(lab.tasks)
    queue = await service.open(link)
    assert queue.path == str(lab.tasks)
    assert (await service.refresh(link)).path == queue.path
    assert not (lab.folder / "link_state.yaml").exists()


async def test_a_bad_file_that_was_never_good_is_refused_and_leaves_no_trace(lab: Lab) -> None:
    store = await lab.store()
    service = await lab.service(store=store)
    lab.write("BAD")
    with pytest.raises(ConfigError, match="tasks: bad"):
        await service.open(lab.tasks)
    lab.tasks.unlink()
    with pytest.raises(ConfigError):
        await service.open(lab.tasks)
    assert list(await store.queues()) == []
    assert not lab.state.exists()
    with pytest.raises(NotFoundError):
        await service.refresh(lab.tasks)


@pytest.mark.parametrize("text", ["BAD", "", "a b BAD"])
async def test_a_file_that_goes_bad_is_a_problem_and_the_last_good_version_stays(
    lab: Lab, text: str
) -> None:
    store, reader = await lab.store(), Reader()
    service = await lab.service(store=store, reader=reader)
    good = await service.open(lab.tasks)
    lab.write(text)
    calls = reader.calls
    for _ in range(3):
        queue = await service.refresh(lab.tasks)
        assert "bad: mend it" in queue.problem
    assert reader.calls == calls + 1, "the bad version is read once, not again and again"
    assert queue.content_hash == good.content_hash
    assert [task.id for task in await store.tasks(queue.path)] == ["a", "b"]
    assert "bad" in (await (await lab.service()).open(lab.tasks)).problem
    lab.write("a b c", age=1800)
    assert (await service.refresh(lab.tasks)).problem == ""
    assert [task.id for task in await store.tasks(queue.path)] == ["a", "b", "c"]


async def test_a_file_that_is_missing_is_a_problem_until_it_is_back(lab: Lab) -> None:
    store = await lab.store()
    service = await lab.service(store=store)
    await service.open(lab.tasks)
    aside = lab.tasks.rename(lab.folder / "aside")
    assert "is missing: put it back" in (await service.refresh(lab.tasks)).problem
    version = await store.version()
    assert "is missing" in (await service.refresh(lab.tasks)).problem
    assert await store.version() == version
    aside.rename(lab.tasks)
    assert (await service.refresh(lab.tasks)).problem == ""
    assert (await store.queue(str(lab.tasks))).problem == ""


async def test_a_folder_in_its_place_is_a_problem_too(lab: Lab) -> None:
    service = await lab.service()
    await service.open(lab.tasks)
    lab.tasks.unlink()
    lab.tasks.mkdir()
    assert "cannot be read" in (await service.refresh(lab.tasks)).problem


@pytest.fixture
def opened() -> Iterator[list[str]]:
    """Note every file that is opened."""
    names: list[str] = []
    watching = True

    def watch(event: str, args: tuple[object, ...]) -> None:
        # Hooks of this kind stay to the end of the process.
        if watching and event == "open":
            names.append(str(args[0]))

    sys.addaudithook(watch)
    yield names
    watching = False


async def test_a_file_that_did_not_change_is_not_opened_again(lab: Lab, opened: list[str]) -> None:
    service = await lab.service()
    await service.open(lab.tasks)
    opened.clear()
    for _ in range(3):
        await service.refresh(lab.tasks)
    assert str(lab.tasks) not in opened
    lab.write("x y")
    await service.refresh(lab.tasks)
    assert str(lab.tasks) in opened, "one of the same size and age that was written anew is read"


async def test_a_file_that_changed_a_moment_ago_is_looked_at_again(
    lab: Lab, opened: list[str]
) -> None:
    store, reader = await lab.store(), Reader()
    service = await lab.service(store=store, reader=reader)
    lab.write("a b", age=0.5)
    await service.open(lab.tasks)
    opened.clear()
    # It may have been saved again within one tick of the file system's clock.
    await service.refresh(lab.tasks)
    assert str(lab.tasks) in opened
    assert reader.calls == 1, "what says the same is not parsed again"
    await lab.clock.sleep(2)
    await service.refresh(lab.tasks)
    opened.clear()
    await service.refresh(lab.tasks)
    assert str(lab.tasks) not in opened


async def test_a_version_that_was_parsed_by_others_is_not_parsed_again(lab: Lab) -> None:
    store, reader = await lab.store(), Reader()
    one = await lab.service(store=store)
    two = await lab.service(reader=reader)
    await one.open(lab.tasks)
    await two.open(lab.tasks)
    lab.write("a b c")
    await one.refresh(lab.tasks)
    queue = await two.refresh(lab.tasks)
    assert reader.calls == 0
    assert queue.content_hash == (await store.queue(queue.path)).content_hash


async def test_while_one_worker_parses_the_others_go_on_with_what_is_in_force(lab: Lab) -> None:
    slow, quick = Reader(gate=threading.Event()), Reader()
    assert slow.gate is not None
    slow.gate.set()
    one, two = await lab.service(reader=slow), await lab.service(reader=quick)
    before = await one.open(lab.tasks)
    await two.open(lab.tasks)
    slow.gate.clear()
    lab.write("a b c")
    parsing = asyncio.create_task(one.refresh(lab.tasks))
    assert await asyncio.to_thread(slow.waits.wait, 30)
    assert (await two.refresh(lab.tasks)).content_hash == before.content_hash
    assert quick.calls == 0
    slow.gate.set()
    after = await parsing
    assert after.content_hash != before.content_hash
    assert (await two.refresh(lab.tasks)).content_hash == after.content_hash
    assert quick.calls == 0


async def test_ten_workers_that_open_a_queue_at_once_parse_it_once(lab: Lab) -> None:
    reader = Reader()
    services = [await lab.service(reader=reader) for _ in range(10)]
    queues = await asyncio.gather(*(service.open(lab.tasks) for service in services))
    assert len({queue.content_hash for queue in queues}) == 1
    assert reader.calls == 1


# -- the state file ------------------------------------------------------------------------


async def test_the_state_file_follows_what_happens(lab: Lab) -> None:
    store = await lab.store()
    service = await lab.service(store=store)
    queue = await service.open(lab.tasks)
    scene = Scene(store)
    lease = await scene.worker(queue=queue.path)
    await scene.run(lease, FAILED, SUCCEEDED, path=queue.path)
    await scene.must_claim(lease, path=queue.path)
    await service.mirror(lab.tasks, now=True)
    tasks = lab.shown()["tasks"]
    assert (tasks["a"]["done"], tasks["a"]["run_count"], tasks["a"]["fail_count"]) == (True, 2, 0)
    assert [run["status"] for run in tasks["a"]["history"]] == ["failed", "completed"]
    assert [run["job_id"] for run in tasks["b"]["running"]] == [lease.job]


async def test_the_state_file_may_be_two_seconds_behind_but_not_for_ever(lab: Lab) -> None:
    store = await lab.store()
    service = await lab.service(store=store)
    queue = await service.open(lab.tasks)
    await store.mark_done(queue.path, "a", NOTE)
    await service.mirror(lab.tasks)
    assert not lab.shown()["tasks"]["a"]["done"]
    await lab.clock.sleep(2)
    await service.mirror(lab.tasks)
    assert lab.shown()["tasks"]["a"]["done"]


async def test_a_costly_state_file_is_written_less_often(lab: Lab) -> None:
    store = await lab.store()
    service = await lab.service(store=store)
    queue = await service.open(lab.tasks)
    head = state_file.read_head(lab.state)
    assert head is not None
    dear = attrs.evolve(head, cost=3.0, written=lab.clock.now())
    lab.state.write_text(state_file.render_head(dear, "tasks.yaml") + "tasks: {}\n")
    await store.mark_done(queue.path, "a", NOTE)
    await lab.clock.sleep(29)
    await service.mirror(lab.tasks)
    assert lab.shown()["tasks"] == {}
    await lab.clock.sleep(2)
    await service.mirror(lab.tasks)
    assert lab.names() == ["a", "b"]


async def test_what_another_process_wrote_is_not_written_again(lab: Lab) -> None:
    store = await lab.store()
    one, two = await lab.service(store=store), await lab.service()
    queue = await one.open(lab.tasks)
    await two.open(lab.tasks)
    await store.mark_done(queue.path, "a", NOTE)
    await one.mirror(lab.tasks, now=True)
    written = lab.state.stat()
    await two.mirror(lab.tasks, now=True)
    assert lab.state.stat().st_ino == written.st_ino


async def test_who_finds_another_writing_goes_on_and_comes_back(lab: Lab) -> None:
    store = await lab.store()
    service = await lab.service(store=store)
    queue = await service.open(lab.tasks)
    await store.mark_done(queue.path, "a", NOTE)
    await lab.clock.sleep(10)
    slept = len(lab.clock.slept)
    with try_lock(state_file.lock_of(lab.state)) as locked:
        assert locked
        await service.mirror(lab.tasks)
        assert len(lab.clock.slept) == slept
        assert not lab.shown()["tasks"]["a"]["done"]
    await service.mirror(lab.tasks)
    assert lab.shown()["tasks"]["a"]["done"]


class SlowClock(FakeClock):
    """Holds up who writes a state file, for it asks what that cost, in a thread."""

    def __init__(self) -> None:
        super().__init__(auto=True)
        self.writing = threading.Event()
        self.gate = threading.Event()
        self.gate.set()

    def monotonic(self) -> float:
        if threading.current_thread() is not threading.main_thread():
            self.writing.set()
            assert self.gate.wait(30)
        return super().monotonic()


async def test_who_is_cancelled_while_writing_keeps_the_lock_to_the_end(lab: Lab) -> None:
    clock = SlowClock()
    lab.clock = clock
    store = await lab.store()
    service = await lab.service(store=store)
    queue = await service.open(lab.tasks)
    await store.mark_done(queue.path, "a", NOTE)
    clock.writing.clear()
    clock.gate.clear()
    mirroring = asyncio.create_task(service.mirror(lab.tasks, now=True))
    assert await asyncio.to_thread(clock.writing.wait, 30)
    mirroring.cancel()
    await asyncio.sleep(0)
    with try_lock(state_file.lock_of(lab.state)) as locked:
        assert not locked
    clock.gate.set()
    with pytest.raises(asyncio.CancelledError):
        await mirroring
    with try_lock(state_file.lock_of(lab.state)) as locked:
        assert locked
    assert lab.shown()["tasks"]["a"]["done"]


async def test_a_state_file_that_cannot_be_written_is_told_once_and_ends_nothing(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    store = await lab.store()
    service = await lab.service(store=store)
    queue = await service.open(lab.tasks)
    lab.state.unlink()
    lab.state.mkdir()
    caplog.set_level(logging.WARNING)
    for _ in range(2):
        await store.mark_done(queue.path, "a", NOTE)
        await service.mirror(lab.tasks, now=True)
    (record,) = caplog.records
    assert "cannot be written" in record.getMessage()
    lab.state.rmdir()
    await service.mirror(lab.tasks, now=True)
    assert lab.shown()["tasks"]["a"]["done"]
    left = {path.name for path in lab.folder.iterdir()}
    assert left == {"home", "tasks.yaml", "tasks_state.yaml", ".tasks_state.yaml.lock"}


async def test_another_homes_queue_is_refused_with_a_remedy_that_works(lab: Lab) -> None:
    store = await lab.store()
    await (await lab.service(store=store)).open(lab.tasks)
    theirs = await lab.service("other")
    with pytest.raises(HeldError) as caught:
        await theirs.open(lab.tasks)
    assert await store.home_id() in str(caught.value)
    assert str(lab.state) in str(caught.value)
    lab.state.unlink()
    assert (await theirs.open(lab.tasks)).content_hash


async def test_a_state_file_that_became_another_homes_is_left_alone(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    store = await lab.store()
    service = await lab.service(store=store)
    queue = await service.open(lab.tasks)
    text = lab.state.read_text().replace(await store.home_id(), "somebody-else")
    lab.state.write_text(text)
    await store.mark_done(queue.path, "a", NOTE)
    await service.mirror(lab.tasks, now=True)
    assert lab.state.read_text() == text
    assert "two homes must not share" in caplog.text


async def test_a_v3_state_is_taken_over_once_and_kept(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.state.write_text(V3 + "  odd: 3\n")
    store = await lab.store()
    service = await lab.service(store=store)
    queue = await service.open(lab.tasks)
    scene = Scene(store)
    assert await scene.statuses(queue.path) == {"a": "DONE", "b": "PENDING"}
    assert "task odd: not a map" in caplog.text
    assert lab.shown()["home"] == await store.home_id()
    assert (lab.folder / "tasks_state.yaml.v3").read_text() == V3 + "  odd: 3\n"
    claim = await scene.must_claim(await scene.worker(queue=queue.path), path=queue.path)
    assert (claim.task.id, claim.attempt.number) == ("b", 2)


async def test_a_crash_while_a_v3_state_is_taken_over_loses_nothing(lab: Lab) -> None:
    lab.state.write_text(V3)
    store = await lab.store()
    # As far as it came: the state was taken over, and nothing was defined or written.
    await store.open_queue(str(lab.tasks))
    found = v3_state.read(lab.state, {})
    assert found is not None
    await store.import_state(str(lab.tasks), found.counters, found.history)
    await (await lab.service()).open(lab.tasks)
    assert await Scene(store).statuses(str(lab.tasks)) == {"a": "DONE", "b": "PENDING"}


async def test_a_broken_v3_state_is_one_clear_error_and_is_not_overwritten(lab: Lab) -> None:
    lab.state.write_text("tasks: [")
    with pytest.raises(InvalidInputError, match="mend it, or move it away"):
        await (await lab.service()).open(lab.tasks)
    assert lab.state.read_text() == "tasks: ["


async def test_the_time_of_a_look_is_the_clocks(lab: Lab) -> None:
    service = await lab.service()
    await service.open(lab.tasks)
    head = state_file.read_head(lab.state)
    assert head is not None
    assert head.written is not None
    assert timedelta() <= lab.clock.now() - head.written <= timedelta(seconds=1)


async def test_a_tasks_file_that_became_a_link_is_its_queues_still(lab: Lab) -> None:
    lab.write("a")
    queue = await (await lab.service()).open(lab.tasks)
    other = lab.folder / "other.yaml"
    lab.tasks.rename(other)
    lab.tasks.symlink_to(other)
    assert (await (await lab.service()).open(lab.tasks)).path == queue.path == str(lab.tasks)
