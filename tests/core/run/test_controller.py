"""What a controller makes of what clouds and hosts say."""

import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
from tests.core.run.scene import Scene, loop

from jobman_core import hookimpl
from jobman_core.command import Command
from jobman_core.errors import (
    PermanentCloudError,
    StaleLeaseError,
    StockoutError,
    TransientCloudError,
)
from jobman_core.interfaces.environment import Environment
from jobman_core.interfaces.store import Note
from jobman_core.models.job import (
    CommandMode,
    Desired,
    EndingKind,
    HoldMode,
    JobSpec,
    OnEnd,
    QueueMode,
    Step,
    WorkMode,
)
from jobman_core.models.outcome import Cause, Outcome, OutcomeKind
from jobman_core.models.place import GiveUp, Place, PlaceContext, Wait
from jobman_core.models.slice import Slice, SliceIdentity, SlicePhase, SliceRequest
from jobman_core.models.status import JobStatus
from jobman_core.models.task import TaskSpec, TaskStatus, Workers
from jobman_core.run.lease import Tenure, Terms
from jobman_core.testing.fakes import FakeCloud, FakeHost

HERE = SliceRequest("fake", "v4-8", "here")
THERE = SliceRequest("fake", "v4-8", "there")
WIDE = SliceRequest("fake", "v4-32", "here")


async def test_a_command_runs_to_its_end_and_its_slice_is_kept(tmp_path: Path) -> None:
    async with Scene(tmp_path, work=CommandMode("echo hello")) as scene:
        scene.start()
        await scene.over()
        record = await scene.record()
        assert record.job.ending
        assert record.job.ending.kind is EndingKind.DONE
        assert await scene.outcomes() == [("succeeded", "exited")]
        assert list(scene.cloud.slices) == ["job-1-g1"]
        log = scene.home.command_log("ada", scene.job, 1, 0)
        assert log.read_text() == "hello\n"


async def test_a_cloud_that_does_not_answer_for_an_hour_changes_nothing(tmp_path: Path) -> None:
    async with Scene(tmp_path) as scene:
        scene.start()
        fleet, token = await scene.until_running()
        scene.cloud.unknown = "time-out"
        await scene.pass_time(3600)
        assert scene.running() == token
        assert not [call for call in scene.cloud.calls if call.startswith("delete")]
        scene.cloud.unknown = None
        fleet.finish(token, 0, 0)
        await scene.over()
        assert await scene.outcomes() == [("succeeded", "exited")]


@pytest.mark.parametrize("how", ["preempted", "vanished"])
async def test_a_lost_slice_interrupts_and_is_replaced(tmp_path: Path, how: str) -> None:
    async with Scene(tmp_path, **loop()) as scene:
        scene.start()
        _, token = await scene.until_running()
        if how == "preempted":
            scene.cloud.force("job-1-g1", SlicePhase.LOST, "PREEMPTED")
            scene.cloud.slices["job-1-g1"].fleet.lose()
        else:
            scene.cloud.vanish("job-1-g1")
        again = await scene.until(lambda: t if (t := scene.running()) != token else None)
        assert again != token
        assert list(scene.cloud.slices) == ["job-1-g2"]
        kinds = [kind for kind, _ in await scene.outcomes()]
        assert kinds == ["interrupted", "live"]
        assert (await scene.record()).job.recoveries == 1


async def test_a_slice_about_to_be_lost_is_asked_to_end_its_program(tmp_path: Path) -> None:
    async with Scene(tmp_path, **loop()) as scene:
        scene.start()
        fleet, token = await scene.until_running()
        scene.cloud.force("job-1-g1", SlicePhase.LOSING, "SUSPENDING")
        await scene.until(lambda: fleet.program(token, 0).state.value == "ENDED")
        await scene.pass_time(300)
        # Nothing is forced on what goes by itself.
        assert scene.cloud.calls == ["create job-1-g1"]
        scene.cloud.force("job-1-g1", SlicePhase.LOST, "SUSPENDED")
        await scene.until(lambda: "job-1-g2" in scene.cloud.slices)
        assert scene.cloud.calls[1] == "delete job-1-g1"
        assert (await scene.outcomes())[0] == ("interrupted", "preempted")


async def test_a_program_that_ended_before_its_slice_suspends_keeps_its_success(
    tmp_path: Path,
) -> None:
    async with Scene(tmp_path) as scene:
        scene.start()
        fleet, token = await scene.until_running()
        # The end and the loss become known with the same look.
        program = fleet.programs[token, 0]
        scene.cloud.force("job-1-g1", SlicePhase.LOSING, "SUSPENDING")
        program.state, program.code = type(program.state)("DONE"), 0
        await scene.over()
        assert await scene.outcomes() == [("succeeded", "exited")]


async def test_one_host_that_is_silent_for_a_while_is_waited_for(tmp_path: Path) -> None:
    async with Scene(tmp_path, candidates=(WIDE,), unreachable_timeout=600.0) as scene:
        scene.start()
        fleet, token = await scene.until_running()
        fleet.silence(2)
        await scene.pass_time(500)
        assert await scene.outcomes() == [("live", "")]
        assert (await scene.record()).job.step_reason.startswith("host 2 does not answer")
        fleet.speak(2)
        await scene.pass_time(120)
        assert (await scene.record()).job.step_reason == ""
        for host in range(4):
            fleet.finish(token, host, 0)
        await scene.over()
        assert await scene.outcomes() == [("succeeded", "exited")]


async def test_a_host_that_stays_silent_under_a_ready_node_costs_the_slice(tmp_path: Path) -> None:
    async with Scene(tmp_path, **loop(candidates=(WIDE,), unreachable_timeout=60.0)) as scene:
        scene.start()
        fleet, token = await scene.until_running()
        fleet.silence(3)
        fleet.say(token, 0, b"the others run on\n")
        await scene.until(lambda: "job-1-g2" in scene.cloud.slices)
        assert (await scene.outcomes())[0] == ("interrupted", "unreachable")
        assert scene.cloud.calls[:3] == ["create job-1-g1", "delete job-1-g1", "create job-1-g2"]


async def test_one_host_that_fails_ends_the_others(tmp_path: Path) -> None:
    async with Scene(tmp_path, candidates=(WIDE,)) as scene:
        scene.start()
        fleet, token = await scene.until_running()
        fleet.finish(token, 2, 3)
        await scene.over()
        assert [fleet.program(token, host).state.value for host in range(4)] == [
            "ENDED",
            "ENDED",
            "DONE",
            "ENDED",
        ]
        (attempt,) = await scene.attempts()
        assert attempt.outcome
        assert (attempt.outcome.exit_code, attempt.outcome.detail) == (3, "exit 3 on host 2")


async def test_a_host_that_lost_its_program_without_a_record_is_an_interruption(
    tmp_path: Path,
) -> None:
    async with Scene(tmp_path, **loop()) as scene:
        scene.start()
        fleet, token = await scene.until_running()
        fleet.lose(0)
        await scene.until(lambda: scene.running() not in (None, token))
        assert (await scene.outcomes())[0] == ("interrupted", "host lost")
        assert list(scene.cloud.slices) == ["job-1-g1"]


async def test_without_capacity_it_waits_goes_to_the_next_zone_and_keeps_its_number(
    tmp_path: Path,
) -> None:
    async with Scene(tmp_path, candidates=(HERE, THERE)) as scene:
        full = [StockoutError("no capacity here"), StockoutError("none there")]
        scene.cloud.refusals.extend(full * 4)
        scene.start()
        await scene.until(lambda: not scene.cloud.refusals)
        await scene.until_running()
        (slice_,) = await scene.store.slices(scene.job)
        assert slice_.generation == 1
        assert scene.cloud.slices["job-1-g1"].request.zone in ("here", "there")


async def test_no_capacity_is_the_reason_that_people_see_and_when_it_is_asked_for_again(
    tmp_path: Path,
) -> None:
    async with Scene(tmp_path) as scene:
        scene.cloud.capacity = {"here": 0}
        scene.start()
        await scene.until(lambda: any("no capacity" in line for line in scene.said))
        await scene.pass_time(30)
        job = (await scene.record()).job
        assert job.step is Step.ACQUIRE
        assert "no capacity in zone 'here'" in job.step_reason
        assert job.next_try is not None
        assert 0 < (job.next_try - scene.clock.now()).total_seconds() <= 72
        assert not (await scene.kinds()).count("slice.no_capacity") > 1


async def test_an_error_that_passes_is_asked_again(tmp_path: Path) -> None:
    async with Scene(tmp_path) as scene:
        scene.cloud.refusals.extend([TransientCloudError("503")] * 3)
        scene.start()
        await scene.until_running()


async def test_a_permanent_refusal_ends_the_job_with_its_reason(tmp_path: Path) -> None:
    async with Scene(tmp_path, **loop()) as scene:
        scene.cloud.refusals.append(PermanentCloudError("Quota limit exceeded. Limit: 0"))
        scene.start()
        await scene.over()
        job = (await scene.record()).job
        assert job.ending
        assert (job.ending.kind, job.ending.reason) == (
            EndingKind.FAILED,
            "Quota limit exceeded. Limit: 0",
        )
        assert [s for s in await scene.store.slices(scene.job) if s.held] == []


async def test_a_slice_with_the_labels_of_others_is_left_alone(tmp_path: Path) -> None:
    async with Scene(tmp_path) as scene:
        other = SliceIdentity("job-1-g1", "here", "home-2", "eve", "000009", 1)
        await scene.cloud.create(other, HERE)
        scene.start()
        await scene.over()
        job = (await scene.record()).job
        assert job.ending
        assert job.ending.kind is EndingKind.FAILED
        assert scene.cloud.slices["job-1-g1"].identity == other


async def test_a_controller_lost_between_books_and_cloud_is_made_good(tmp_path: Path) -> None:
    async with Scene(tmp_path) as scene:
        scene.cloud.refusals.append(StockoutError("none now"))
        scene.start()
        await scene.until(lambda: scene.cloud.calls)
        await scene.crash()
        (slice_,) = await scene.store.slices(scene.job)
        await _as_if_asked(scene, slice_)
        scene.start()
        await scene.until_running()
        assert list(scene.cloud.slices) == ["job-1-g1"]
        assert (await scene.record()).job.recoveries == 0


async def _as_if_asked(scene: Scene, slice_: Slice) -> None:
    from jobman_core.models.slice import ASKED

    record = await scene.record()
    async with Tenure(scene.store, scene.clock, Terms()) as own, own.lease(record) as lease:
        await scene.store.save_slice(lease, attrs.evolve(slice_, state=ASKED, detail=""))


async def test_a_stop_before_the_slice_is_ready_withdraws_it(tmp_path: Path) -> None:
    async with Scene(tmp_path) as scene:
        scene.cloud.provisioning = 3600
        scene.start()
        await scene.until(lambda: scene.cloud.slices)
        await scene.store.set_desired(scene.job, Desired.STOPPED, Note("job.stopped", "stop"))
        await scene.over()
        assert scene.cloud.slices == {}
        (slice_,) = await scene.store.slices(scene.job)
        assert slice_.gone_at is not None


async def test_a_stop_ends_the_program_and_keeps_a_ready_slice(tmp_path: Path) -> None:
    async with Scene(tmp_path) as scene:
        scene.start()
        fleet, token = await scene.until_running()
        await scene.store.set_desired(scene.job, Desired.STOPPED, Note("job.stopped", "stop"))
        await scene.over()
        assert fleet.program(token, 0).state.value == "ENDED"
        assert await scene.outcomes() == [("interrupted", "stopped")]
        assert list(scene.cloud.slices) == ["job-1-g1"]


async def test_a_stop_that_comes_after_the_programs_own_end_does_not_take_its_success(
    tmp_path: Path,
) -> None:
    async with Scene(tmp_path) as scene:
        scene.start()
        fleet, token = await scene.until_running()
        await scene.crash()
        fleet.finish(token, 0, 0)
        await scene.store.set_desired(scene.job, Desired.STOPPED, Note("job.stopped", "stop"))
        scene.start()
        await scene.over()
        assert await scene.outcomes() == [("succeeded", "exited")]


async def test_hosts_that_are_silent_keep_the_wish_to_stop_on_the_books(tmp_path: Path) -> None:
    async with Scene(tmp_path) as scene:
        scene.start()
        fleet, _ = await scene.until_running()
        fleet.silence(0)
        await scene.store.set_desired(scene.job, Desired.STOPPED, Note("job.stopped", "stop"))
        await scene.pass_time(300)
        assert await scene.outcomes() == [("live", "")]
        assert any("has not confirmed the end" in line for line in scene.said)
        fleet.speak(0)
        await scene.over()
        assert await scene.outcomes() == [("interrupted", "stopped")]


async def test_the_next_controller_adopts_what_runs_and_starts_nothing_again(
    tmp_path: Path,
) -> None:
    async with Scene(tmp_path) as scene:
        scene.start()
        fleet, token = await scene.until_running()
        program = fleet.programs[token, 0]
        await scene.crash()
        scene.start()
        await scene.until(lambda: any("adopts" in line for line in scene.said))
        assert fleet.programs[token, 0] is program
        fleet.finish(token, 0, 0)
        await scene.over()
        assert await scene.outcomes() == [("succeeded", "exited")]


async def test_an_attempt_that_was_claimed_and_never_launched_is_launched_once(
    tmp_path: Path,
) -> None:
    async with Scene(tmp_path, work=QueueMode("")) as scene:
        scene.tasks = (TaskSpec("t", "echo t\nsleep", "v4-8", workers=Workers((0,))),)
        scene.queue_file.write_text("with a task")
        await scene.queues.refresh(scene.queue_file)
        # Silent from the first word on: the claim is made, and no launch gets through.
        scene.cloud.provisioning = 5
        scene.start()
        await scene.until(lambda: scene.cloud.slices)
        fleet = scene.fleet()
        assert fleet
        fleet.silence(0)
        await scene.until(lambda: any("claims task t" in line for line in scene.said))
        await scene.pass_time(5)
        await scene.crash()
        fleet.speak(0)
        scene.start()
        await scene.until_running()
        assert len(await scene.attempts()) == 1
        assert len(fleet.programs) == 1


async def test_a_controller_whose_lease_was_taken_stops_acting(tmp_path: Path) -> None:
    async with Scene(tmp_path, **loop()) as scene:
        scene.start()
        _, token = await scene.until_running()
        calls = list(scene.cloud.calls)
        async with Tenure(scene.store, scene.clock, Terms()) as other:
            held = (await scene.record()).holder
            assert held
            await scene.store.take_lease(scene.job, other.id, instead_of=held[0])
            scene.cloud.force("job-1-g1", SlicePhase.LOST, "PREEMPTED")
            with pytest.raises(StaleLeaseError):
                await scene.over()
        assert scene.cloud.calls == calls
        assert await scene.outcomes() == [("live", "")]
        assert token


@pytest.mark.parametrize("work", [CommandMode("sleep"), QueueMode(""), HoldMode()], ids=str)
async def test_a_controller_hears_within_seconds_that_its_lease_was_taken(
    tmp_path: Path, work: WorkMode
) -> None:
    async with Scene(tmp_path, work=work) as scene:
        scene.start()
        await scene.until(lambda: scene.cloud.slices)
        await scene.pass_time(30)
        programs = scene.running()
        async with Tenure(scene.store, scene.clock, Terms()) as other:
            held = (await scene.record()).holder
            assert held
            await scene.store.take_lease(scene.job, other.id, instead_of=held[0])
            await scene.pass_time(3)
            assert scene.driving
            assert scene.driving.done()
            with pytest.raises(StaleLeaseError):
                await scene.driving
        assert scene.running() == programs
        assert scene.said[-1].endswith("another controller has this job now: leaves it alone")


async def test_on_end_delete_gives_the_slice_back(tmp_path: Path) -> None:
    async with Scene(tmp_path, work=CommandMode("exit 1"), on_end=OnEnd.DELETE) as scene:
        scene.start()
        await scene.over()
        assert scene.cloud.slices == {}
        job = (await scene.record()).job
        assert job.ending
        assert job.ending.kind is EndingKind.FAILED


async def test_failures_are_counted_in_the_store_over_controllers(tmp_path: Path) -> None:
    async with Scene(tmp_path, **loop(work=CommandMode("exit 1"), max_restarts=3)) as scene:
        scene.start()
        await scene.until(lambda: any("attempt 2" in line for line in scene.said))
        await scene.crash()
        scene.start()
        await scene.over()
        assert len(await scene.attempts()) == 4


class Judge:
    """A plugin with opinions."""

    def __init__(self, exits: Outcome | None = None, running: Outcome | None = None) -> None:
        self.exits, self.running = exits, running
        self.heard: list[tuple[str, Any, Any]] = []

    @hookimpl
    def jobman_classify_exit(self) -> Outcome | None:
        return self.exits

    @hookimpl
    def jobman_classify_running(self, tail: str) -> Outcome | None:
        return self.running if "GRPC error" in tail else None

    @hookimpl
    def jobman_job_changed(self, old: object, new: object) -> None:
        self.heard.append(("job", old, new))

    @hookimpl
    def jobman_task_changed(self, old: object, new: object) -> None:
        self.heard.append(("task", old, new))
        raise RuntimeError("a plugin's own fault")


@pytest.mark.parametrize(
    ("script", "verdict", "expected"),
    [
        ("exit 7", OutcomeKind.SUCCEEDED, ("failed", "exited")),
        ("exit 7", OutcomeKind.INTERRUPTED, ("interrupted", "plugin:judge")),
        ("exit 0", OutcomeKind.FAILED, ("failed", "plugin:judge")),
    ],
)
async def test_a_plugins_verdict_names_the_plugin_and_makes_no_success_of_a_failure(
    tmp_path: Path, script: str, verdict: OutcomeKind, expected: tuple[str, str]
) -> None:
    async with Scene(tmp_path, work=CommandMode(script)) as scene:
        scene.plugins.add("judge", Judge(Outcome(verdict, Cause.EXITED)), distribution="test")
        scene.start()
        await scene.over()
        assert await scene.outcomes() == [expected]


async def test_a_plugin_can_end_a_program_by_what_it_says(tmp_path: Path) -> None:
    async with Scene(tmp_path) as scene:
        hung = Outcome(OutcomeKind.FAILED, "grpc")
        scene.plugins.add("judge", Judge(running=hung), distribution="test")
        scene.start()
        fleet, token = await scene.until_running()
        fleet.say(token, 0, b"healthy error text\n")
        await scene.pass_time(10)
        assert scene.running() == token
        fleet.say(token, 0, b"GRPC error\n")
        await scene.over()
        assert fleet.program(token, 0).state.value == "ENDED"
        assert await scene.outcomes() == [("failed", "plugin:judge")]


async def test_plugins_hear_of_changes_and_their_failures_are_contained(tmp_path: Path) -> None:
    async with Scene(tmp_path, work=QueueMode("", idle_timeout=30.0)) as scene:
        scene.tasks = (TaskSpec("t", "echo t", "v4-8"),)
        scene.queue_file.write_text("with a task")
        await scene.queues.refresh(scene.queue_file)
        judge = Judge()
        scene.plugins.add("judge", judge, distribution="test")
        scene.start()
        await scene.over()
        tasks = [(old, new) for kind, old, new in judge.heard if kind == "task"]
        assert tasks == [
            (TaskStatus.PENDING, TaskStatus.RUNNING),
            (TaskStatus.RUNNING, TaskStatus.DONE),
        ]
        jobs = [(old, new) for kind, old, new in judge.heard if kind == "job"]
        assert jobs[0][0] is None
        assert [new for _, new in jobs[:-1]] == [old for old, _ in jobs[1:]]
        assert jobs[-1] == (JobStatus.IDLE, JobStatus.DONE)


async def test_a_plugin_that_hangs_at_an_event_holds_up_neither_work_nor_orders(
    tmp_path: Path,
) -> None:
    free = threading.Event()

    class Hangs:
        @hookimpl
        def jobman_job_changed(self) -> None:
            free.wait()

    async with Scene(tmp_path) as scene:
        scene.plugins.add("hangs", Hangs(), distribution="test")
        scene.start()
        try:
            await scene.until_running()
            stop = Note("job.stopped", "stop")
            await scene.store.set_desired(scene.job, Desired.STOPPED, stop)
            await scene.over()
            assert await scene.outcomes() == [("interrupted", "stopped")]
        finally:
            free.set()


class Chooser:
    """Gives answers about places in turn; the last one again and again."""

    def __init__(self, *answers: Callable[[PlaceContext], object]) -> None:
        self.answers = list(answers)
        self.seen: list[PlaceContext] = []

    @hookimpl
    def jobman_place(self, context: PlaceContext) -> Any:
        self.seen.append(context)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer(context)


async def test_a_plugin_chooses_where_to_ask_for_a_slice(tmp_path: Path) -> None:
    async with Scene(tmp_path, candidates=(HERE, THERE)) as scene:
        chooser = Chooser(
            lambda _: Wait(5.0, "the plugin wants a moment"), lambda c: Place(c.candidates[1], 1)
        )
        scene.plugins.add("chooser", chooser, distribution="test")
        scene.start()
        await scene.until_running()
        assert [s.request for s in await scene.store.slices(scene.job)] == [THERE]
        first, second = chooser.seen
        assert second.now - first.now >= 5.0


async def test_a_plugin_can_give_up_the_search_for_a_slice(tmp_path: Path) -> None:
    async with Scene(tmp_path) as scene:
        chooser = Chooser(lambda _: GiveUp("too dear today"))
        scene.plugins.add("chooser", chooser, distribution="test")
        scene.start()
        await scene.over()
        ending = (await scene.record()).job.ending
        assert ending
        assert (ending.kind, ending.reason) == (EndingKind.FAILED, "too dear today")


@pytest.mark.parametrize(
    "answer",
    ["here", Place(THERE, 0), Place(HERE, 7), Place(None, 0)],  # type: ignore[arg-type]
    ids=["text", "elsewhere", "no such index", "nowhere"],
)
async def test_a_choice_that_cannot_be_is_passed_over(tmp_path: Path, answer: object) -> None:
    async with Scene(tmp_path) as scene:
        scene.plugins.add("chooser", Chooser(lambda _: answer), distribution="test")
        scene.start()
        await scene.until_running()
        assert [s.request for s in await scene.store.slices(scene.job)] == [HERE]


@pytest.mark.parametrize("verdict", [Outcome(OutcomeKind.SUCCEEDED, "done"), "failed"])
async def test_a_plugin_cannot_call_a_program_that_runs_a_success(
    tmp_path: Path, verdict: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with Scene(tmp_path) as scene:
        scene.plugins.add("judge", Judge(verdict, running=verdict), distribution="test")
        scene.start()
        fleet, token = await scene.until_running()
        fleet.say(token, 0, b"GRPC error\n")
        await scene.until(lambda: "jobman_classify_running" in caplog.text)
        assert scene.running() == token
        fleet.finish(token, 0, 3)
        await scene.over()
        assert "plugin judge passed over in jobman_classify_exit" in caplog.text
        assert await scene.outcomes() == [("failed", "exited")]


async def test_a_store_that_cannot_be_written_for_a_while_costs_nothing(tmp_path: Path) -> None:
    async with Scene(tmp_path) as scene:
        scene.start()
        fleet, token = await scene.until_running()
        lock = sqlite3.connect(scene.home.database, isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        fleet.finish(token, 0, 0)
        await scene.until(lambda: any("database" in line for line in scene.said))
        lock.execute("ROLLBACK")
        lock.close()
        await scene.over()
        assert await scene.outcomes() == [("succeeded", "exited")]


async def test_a_controller_that_comes_back_while_its_slice_suspends_waits_for_the_proof(
    tmp_path: Path,
) -> None:
    async with Scene(tmp_path, **loop()) as scene:
        scene.start()
        fleet, _ = await scene.until_running()
        await scene.crash()
        fleet.silence(0)
        scene.cloud.force("job-1-g1", SlicePhase.LOSING, "SUSPENDING")
        scene.start()
        await scene.pass_time(300)
        assert await scene.outcomes() == [("live", "")]
        scene.cloud.force("job-1-g1", SlicePhase.LOST, "SUSPENDED")
        await scene.until(lambda: "job-1-g2" in scene.cloud.slices)
        assert (await scene.outcomes())[0] == ("interrupted", "preempted")


class Wrapping(Environment):
    """An environment that leaves its mark."""

    name = "wrapping"

    def setup(self, spec: JobSpec, name: str | None) -> Sequence[Command]:
        return [Command(("sh", "-c", "echo made >> made"))]

    def wrap(self, spec: JobSpec, name: str | None, command: Command) -> Command:
        return attrs.evolve(command, argv=("env", "WRAPPED=1", *command.argv))


async def test_an_environment_is_made_on_every_host_and_wraps_the_program(tmp_path: Path) -> None:
    async with Scene(tmp_path / "home", candidates=(WIDE,)) as scene:
        hosts = [FakeHost(index, tmp_path / f"host-{index}") for index in range(4)]
        scene.cloud = FakeCloud(scene.cloud.context, hosts=lambda _: hosts)
        scene.environment = Wrapping(scene.cloud.context)
        scene.spec = attrs.evolve(scene.spec, work=CommandMode('echo "wrapped=$WRAPPED"'))
        scene.start()
        await scene.over()
        assert [(host.home / "made").read_text() for host in hosts] == ["made\n"] * 4
        log = scene.home.command_log("ada", scene.job, 1, 3)
        assert log.read_text() == "wrapped=1\n"


async def test_an_environment_that_cannot_be_made_ends_the_job_and_names_host_and_command(
    tmp_path: Path,
) -> None:
    class Broken(Wrapping):
        def setup(self, spec: JobSpec, name: str | None) -> Sequence[Command]:
            return [Command(("sh", "-c", "echo no such python >&2; exit 3"))]

    async with Scene(tmp_path / "home") as scene:
        hosts = [FakeHost(0, tmp_path / "host-0")]
        scene.cloud = FakeCloud(scene.cloud.context, hosts=lambda _: hosts)
        scene.environment = Broken(scene.cloud.context)
        scene.start()
        await scene.over()
        job = (await scene.record()).job
        assert job.ending
        assert job.ending.kind is EndingKind.FAILED
        for part in ("host 0", "sh", "3", "no such python"):
            assert part in job.ending.reason


async def test_a_task_that_is_removed_while_it_runs_finishes_and_the_worker_goes_on(
    tmp_path: Path,
) -> None:
    async with Scene(tmp_path, work=QueueMode("", idle_timeout=30.0)) as scene:
        scene.tasks = (TaskSpec("old", "sleep", "v4-8"),)
        scene.queue_file.write_text("with a task")
        await scene.queues.refresh(scene.queue_file)
        scene.start()
        await scene.until(lambda: any("runs old" in line for line in scene.said))
        scene.tasks = (TaskSpec("new", "echo new", "v4-8"),)
        scene.queue_file.write_text("with another task")
        queue = await scene.queues.refresh(scene.queue_file)
        (token,) = [a.token for a in (await scene.record()).attempts]
        fleet = scene.fleet()
        assert fleet
        fleet.finish(token, 0, 0)
        await scene.over()
        ended = await scene.store.attempts(job=scene.job)
        assert [(a.task, a.outcome and a.outcome.kind) for a in ended] == [
            ("old", "succeeded"),
            ("new", "succeeded"),
        ]
        assert [task.id for task in await scene.store.tasks(queue.path)] == ["new"]
