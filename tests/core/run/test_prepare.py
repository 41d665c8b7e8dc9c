"""Preparing hosts: each step once for each machine and content, and no step lost half way."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
from tests.core.run.scene import Scene

from jobman_core.command import Command
from jobman_core.errors import InvalidInputError
from jobman_core.home import file_name
from jobman_core.interfaces.environment import Environment
from jobman_core.interfaces.problem import HostProblem
from jobman_core.interfaces.storage import Storage
from jobman_core.interfaces.store import Note
from jobman_core.models.job import CommandMode, Desired, EndingKind, JobSpec, Loop, PrefixScript
from jobman_core.models.slice import SliceRequest
from jobman_core.models.task import Workers
from jobman_core.run.host_step import HostStep, Marks
from jobman_core.run.prepare import forget
from jobman_core.run.wind_down import wind_down
from jobman_core.testing.fakes import FakeCloud, FakeHost

WIDE = SliceRequest("fake", "v4-16", "here")


@attrs.define
class Lab:
    """A scene on hosts that are folders, for which controllers are started one after the other."""

    scene: Scene
    hosts: Sequence[FakeHost]

    async def drive(self) -> EndingKind:
        """Run a controller until its job is over, and give how."""
        self.scene.start()
        await self.scene.over()
        job = (await self.scene.record()).job
        assert job.ending
        return job.ending.kind

    async def again(self) -> EndingKind:
        """The same, of a job that was over."""
        note = Note("job.started", "starts")
        await self.scene.store.set_desired(self.scene.job, Desired.RUNNING, note)
        return await self.drive()

    async def reason(self) -> str:
        job = (await self.scene.record()).job
        return job.ending.reason if job.ending else job.step_reason

    def done(self, name: str = "done") -> list[int]:
        """Give how often something was done on each host."""
        paths = [host.home / name for host in self.hosts]
        return [len(p.read_text().splitlines()) if p.exists() else 0 for p in paths]


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    spec: dict[str, Any] = {"candidates": (WIDE,), "work": CommandMode("true")}
    async with Scene(tmp_path / "home", **spec) as scene:
        hosts = [FakeHost(index, tmp_path / f"host-{index}") for index in range(2)]
        scene.cloud = FakeCloud(scene.cloud.context, hosts=lambda _: hosts)
        yield Lab(scene, hosts)


def alive(pid: str) -> bool:
    """Tell whether a process lives; one that only waits to be reaped does not."""
    try:
        stat = Path("/proc", pid.strip(), "stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def prefix(run: str, name: str = "p", **more: Any) -> PrefixScript:
    return PrefixScript(name, run, **{"workers": Workers("all"), "required": True, **more})


class Made(Environment):
    """An environment that counts how often it is made."""

    name = "made"
    script = "echo made >> done"

    def setup(self, spec: JobSpec, name: str | None) -> Sequence[Command]:
        return [Command(("sh", "-c", self.script))]

    def wrap(self, spec: JobSpec, name: str | None, command: Command) -> Command:
        return command


class Disk(Storage):
    """A storage whose mount is a file."""

    name = "disk"

    def mount(self, spec: JobSpec) -> Sequence[Command]:
        return [Command(("sh", "-c", "touch mounted; echo mounted >> done"))]

    def mounted(self, spec: JobSpec) -> Sequence[str]:
        return ("test", "-e", "mounted")

    def unmount(self, spec: JobSpec) -> Sequence[Command]:
        return [Command(("rm", "-f", "mounted")), Command(("sh", "-c", "echo let go >> let-go"))]


async def test_a_step_is_done_once_on_each_host_however_often_the_job_is_started(lab: Lab) -> None:
    lab.scene.environment = Made(lab.scene.cloud.context)
    for _ in range(3):
        assert await lab.again() is EndingKind.DONE
    assert lab.done() == [1, 1]


async def test_a_step_whose_content_has_changed_is_done_again(lab: Lab) -> None:
    lab.scene.environment = environment = Made(lab.scene.cloud.context)
    await lab.drive()
    environment.script += "; true"
    await lab.again()
    assert lab.done() == [2, 2]


async def test_a_host_that_was_started_again_is_prepared_again(lab: Lab, tmp_path: Path) -> None:
    boot = tmp_path / "boot-id"
    boot.write_text("one\n")
    lab.hosts[1].facts = attrs.evolve(lab.hosts[1].facts, boot_id_file=str(boot))
    lab.scene.environment = Made(lab.scene.cloud.context)
    await lab.drive()
    boot.write_text("two\n")
    await lab.again()
    assert lab.done() == [1, 2]


async def test_what_is_marked_but_does_not_stand_is_done_again(lab: Lab) -> None:
    lab.scene.storages = (Disk(lab.scene.cloud.context),)
    await lab.drive()
    (lab.hosts[0].home / "mounted").unlink()
    await lab.again()
    assert lab.done() == [2, 1]


async def test_a_file_that_is_missing_here_ends_the_job_and_is_named(lab: Lab) -> None:
    class Missing(Made):
        def setup(self, spec: JobSpec, name: str | None) -> Sequence[Command]:
            raise InvalidInputError("made.requirements_file: /gone.txt is missing: put it back")

    lab.scene.environment = Missing(lab.scene.cloud.context)
    assert await lab.drive() is EndingKind.FAILED
    assert "/gone.txt is missing" in await lab.reason()
    assert not lab.scene.cloud.slices, "nothing was asked for"


async def test_prefix_scripts_run_on_their_workers_in_turn_and_see_the_environment(
    lab: Lab,
) -> None:
    lab.scene.spec = attrs.evolve(
        lab.scene.spec,
        environment={"WORD": "it's $HOME"},
        prefix=(
            prefix('echo "$WORD $JOBMAN_WORKER_ID of $JOBMAN_NUM_WORKERS" > said'),
            prefix("cat said > second", "second", workers=Workers((1,))),
        ),
    )
    assert await lab.drive() is EndingKind.DONE
    assert [(host.home / "said").read_text() for host in lab.hosts] == [
        "it's $HOME 0 of 2\n",
        "it's $HOME 1 of 2\n",
    ]
    assert [(host.home / "second").exists() for host in lab.hosts] == [False, True]


async def test_variables_of_a_step_may_be_called_as_one_likes(lab: Lab) -> None:
    names = ("argv", "folder", "index", "input", "items", "variable", "variables", "where")
    wanted = {name: f"/{name} x" for name in names}
    script = f'printenv {" ".join(names)} > "$HOME/said"'
    lab.scene.spec = attrs.evolve(lab.scene.spec, environment=wanted, prefix=(prefix(script),))
    assert await lab.drive() is EndingKind.DONE
    assert (lab.hosts[0].home / "said").read_text().splitlines() == list(wanted.values())


async def test_a_prefix_script_is_a_file_for_bash_that_may_read_its_input(lab: Lab) -> None:
    script = 'read -r x\necho "got \'$x\'" > said\n[[ -f $0 ]] && echo "file" >> said'
    lab.scene.spec = attrs.evolve(lab.scene.spec, prefix=(prefix(script),))
    assert await lab.drive() is EndingKind.DONE
    assert (lab.hosts[0].home / "said").read_text() == "got ''\nfile\n"


async def test_a_required_prefix_script_that_fails_ends_the_job_and_says_its_last_lines(
    lab: Lab,
) -> None:
    failing = prefix("echo no such project; exit 3", "gcloud setup", workers=Workers((0,)))
    lab.scene.spec = attrs.evolve(lab.scene.spec, prefix=(failing,), loop=Loop.RECOVER)
    assert await lab.drive() is EndingKind.PREFIX_FAIL
    assert await lab.reason() == (
        "host 0: prefix script gcloud setup: `bash -o pipefail script` ended with 3: "
        f"no such project; correct it in its config.yaml, then `jobman reboot {lab.scene.job}`"
    )
    log = lab.scene.home.step_log("ada", lab.scene.job, f"prefix_{file_name('gcloud setup')}", 0)
    assert log.read_text().startswith("no such project\n")


async def test_a_prefix_script_that_is_not_required_is_told_passed_over_and_not_run_again(
    lab: Lab,
) -> None:
    failing = prefix("echo tried >> done; exit 3", required=False)
    lab.scene.spec = attrs.evolve(lab.scene.spec, prefix=(failing,))
    assert await lab.drive() is EndingKind.DONE
    assert await lab.again() is EndingKind.DONE
    assert lab.done() == [1, 1]
    events = await lab.scene.store.events(job=lab.scene.job)
    told = [event.text for event in events if event.kind == "step.failed"]
    assert len(told) == 1
    assert "the job goes on without it" in told[0]


async def test_a_failed_script_that_is_required_from_now_on_runs_again(lab: Lab) -> None:
    for required, ends in ((False, EndingKind.DONE), (True, EndingKind.PREFIX_FAIL)):
        failing = prefix("echo tried >> done; exit 3", required=required)
        lab.scene.spec = attrs.evolve(lab.scene.spec, prefix=(failing,))
        assert await lab.again() is ends
    assert lab.done() == [2, 2]


async def test_a_script_that_failed_while_there_was_no_controller_is_told_of(lab: Lab) -> None:
    go = [host.home / "go" for host in lab.hosts]
    for path in go:
        os.mkfifo(path)
    failing = prefix("echo began >> done; read -r line < go; exit 3", required=False)
    lab.scene.spec = attrs.evolve(lab.scene.spec, prefix=(failing,))
    lab.scene.start()
    await lab.scene.until(lambda: lab.done() == [1, 1] or None)
    await lab.scene.crash()
    for path in go:
        await asyncio.to_thread(path.write_text, "go\n")
    marks = [host.home / ".jobman/ready/prefix_p" for host in lab.hosts]
    await lab.scene.until(lambda: all(mark.exists() for mark in marks) or None)
    await lab.drive()
    await lab.again()
    assert lab.done() == [1, 1]
    events = await lab.scene.store.events(job=lab.scene.job)
    assert [event.text for event in events if event.kind == "step.failed"] == [
        "prefix script p failed on hosts 0, 1; the job goes on without it"
    ]


async def test_a_prefix_script_that_is_not_required_and_fails_on_one_host_ends_on_the_others(
    lab: Lab,
) -> None:
    go = lab.hosts[0].home / "go"
    os.mkfifo(go)
    script = "[ $JOBMAN_WORKER_ID = 0 ] || exit 3; read -r line < go; echo made >> done"
    lab.scene.spec = attrs.evolve(lab.scene.spec, prefix=(prefix(script, required=False),))
    mark = lab.hosts[1].home / ".jobman/ready/prefix_p"
    lab.scene.start()
    await lab.scene.until(lambda: mark.exists() or None)
    await lab.scene.pass_time(60)
    await asyncio.to_thread(go.write_text, "go\n")
    await lab.scene.over()
    assert lab.done() == [1, 0]
    assert any(
        "host 1: prefix script p" in said and "ended with 3" in said for said in lab.scene.said
    )


async def test_what_may_pass_is_tried_again_only_where_it_failed(lab: Lab) -> None:
    lab.scene.environment = environment = Made(lab.scene.cloud.context)
    environment.script = (
        "echo made >> done; [ $JOBMAN_WORKER_ID = 0 ] || [ $(wc -l < done) = 3 ] || "
        "{ echo dpkg is locked; exit 75; }"
    )
    assert await lab.drive() is EndingKind.DONE
    assert lab.done() == [1, 3]
    assert any("dpkg is locked" in said and "tries again in 5 s" in said for said in lab.scene.said)


async def test_what_a_step_says_itself_is_the_reason_without_what_it_tried(lab: Lab) -> None:
    lab.scene.environment = environment = Made(lab.scene.cloud.context)
    environment.script = "echo dns error; echo jobman: there is no Python 3.10; exit 1"
    assert await lab.drive() is EndingKind.FAILED
    assert (await lab.reason()).endswith(": there is no Python 3.10")


async def test_what_a_step_remarks_stands_in_its_reason_without_brackets(lab: Lab) -> None:
    lab.scene.environment = environment = Made(lab.scene.cloud.context)
    environment.script = "echo denied; echo '[jobman: it cannot be pulled]'; exit 1"
    assert await lab.drive() is EndingKind.FAILED
    assert (await lab.reason()).endswith(": denied | it cannot be pulled")


async def test_what_does_not_pass_after_all_ends_the_job(lab: Lab) -> None:
    lab.scene.environment = environment = Made(lab.scene.cloud.context)
    environment.script = "echo made >> done; exit 75"
    assert await lab.drive() is EndingKind.FAILED
    assert lab.done() == [6, 6]


async def test_where_one_host_fails_the_others_are_not_waited_for(lab: Lab) -> None:
    lab.scene.environment = environment = Made(lab.scene.cloud.context)
    environment.script = "[ $JOBMAN_WORKER_ID = 1 ] || exec sleep 1000; exit 9"
    assert await lab.drive() is EndingKind.FAILED
    reason = await lab.reason()
    assert reason.startswith("host 1: environment made: `sh -c [")
    assert reason.endswith("exit 9` ended with 9")


async def test_a_step_that_takes_too_long_is_ended(lab: Lab) -> None:
    lab.scene.environment = environment = Made(lab.scene.cloud.context)
    environment.script = "echo $$ > pid; exec sleep 10000"
    lab.scene.start()
    await lab.scene.until(lambda: (lab.hosts[0].home / "pid").exists() or None)
    await lab.scene.pass_time(3700)
    await lab.scene.over()
    assert "took longer than 3600 s" in await lab.reason()
    assert not alive((lab.hosts[0].home / "pid").read_text())


async def test_a_prefix_script_takes_as_long_as_it_wants(lab: Lab) -> None:
    """A time limit for set-up that held for scripts as well had them begin again, for ever."""
    go = [host.home / "go" for host in lab.hosts]
    for path in go:
        os.mkfifo(path)
    lab.scene.spec = attrs.evolve(
        lab.scene.spec, prefix=(prefix("echo began >> done; read -r line < go"),)
    )
    lab.scene.start()
    await lab.scene.until(lambda: lab.done() == [1, 1] or None)
    await lab.scene.pass_time(3 * 3600)
    assert lab.scene.driving
    assert not lab.scene.driving.done()
    for path in go:
        await asyncio.to_thread(path.write_text, "go\n")
    await lab.scene.over()
    assert (await lab.scene.outcomes(), lab.done()) == ([("succeeded", "exited")], [1, 1])


async def test_a_step_outlives_its_controller_and_the_next_one_goes_on_with_it(lab: Lab) -> None:
    go = [host.home / "go" for host in lab.hosts]
    for path in go:
        os.mkfifo(path)
    script = "echo began >> done; read -r line < go; echo $line"
    lab.scene.spec = attrs.evolve(lab.scene.spec, prefix=(prefix(script),))
    lab.scene.start()
    await lab.scene.until(lambda: lab.done() == [1, 1] or None)
    await lab.scene.crash()
    lab.scene.start()
    await lab.scene.until(lambda: any("goes on" in said for said in lab.scene.said) or None)
    for path in go:
        await asyncio.to_thread(path.write_text, "went\n")
    await lab.scene.over()
    assert lab.done() == [1, 1]
    log = lab.scene.home.step_log("ada", lab.scene.job, "prefix_p", 1)
    assert log.read_text() == "went\n"


async def test_a_host_that_is_started_again_while_a_step_runs_there_is_prepared_anew(
    lab: Lab, tmp_path: Path
) -> None:
    boot, host = tmp_path / "boot-id", lab.hosts[1]
    boot.write_text("one\n")
    host.facts = attrs.evolve(host.facts, boot_id_file=str(boot))
    lab.scene.storages = (Disk(lab.scene.cloud.context),)
    script = (
        "[ ! -e again ] || exit 0; touch again; [ $JOBMAN_WORKER_ID = 1 ] || exit 0; "
        "echo $PPID $$ > pids; exec sleep 10000"
    )
    lab.scene.spec = attrs.evolve(lab.scene.spec, prefix=(prefix(script),))
    lab.scene.start()
    pids = host.home / "pids"
    await lab.scene.until(lambda: (pids.exists() and pids.read_text()) or None)
    boot.write_text("two\n")
    wrapper = max(
        (host.home / ".jobman/attempts").glob("*/wrapper"), key=lambda p: p.stat().st_mtime
    )
    for pid in (wrapper.read_text().split()[0], *pids.read_text().split()):
        os.kill(int(pid), signal.SIGKILL)
    await lab.scene.over()
    assert any("gone without a record; tries again" in said for said in lab.scene.said)
    job = (await lab.scene.record()).job
    assert job.ending
    assert job.ending.kind is EndingKind.DONE
    assert lab.done() == [1, 2], "what was done before it was started again is done again, too"


async def test_a_step_that_cannot_begin_on_one_host_runs_on_no_other(lab: Lab) -> None:
    lab.scene.environment = environment = Made(lab.scene.cloud.context)
    environment.script = "echo $$ > pid; echo made >> done; exec sleep 10000"
    (lab.hosts[1].home / ".jobman").mkdir(parents=True)
    (lab.hosts[1].home / ".jobman" / "attempts").touch()
    lab.scene.start()
    # What had hardly begun may need to be killed, after some seconds of grace.
    await lab.scene.until(lambda: any("FAILED" in said for said in lab.scene.said), limit=20_000)
    assert (await lab.reason()).startswith("host 1: cannot write below")
    [begun] = (lab.hosts[0].home / ".jobman" / "attempts").iterdir()
    assert (begun / "gone").exists()


async def test_output_of_a_step_that_cannot_be_written_is_asked_for_again(lab: Lab) -> None:
    go = lab.hosts[0].home / "go"
    os.mkfifo(go)
    script = "echo one; read -r line < go; echo two"
    lab.scene.spec = attrs.evolve(lab.scene.spec, prefix=(prefix(script, workers=Workers((0,))),))
    log = lab.scene.home.step_log("ada", lab.scene.job, "prefix_p", 0)
    log.mkdir(parents=True)
    lab.scene.start()
    await lab.scene.until(
        lambda: any("move away what lies" in said for said in lab.scene.said) or None
    )
    log.rmdir()
    await lab.scene.until(lambda: log.exists() or None)
    await asyncio.to_thread(go.write_text, "go\n")
    await lab.scene.over()
    assert log.read_text() == "one\ntwo\n"


async def test_what_a_host_did_before_it_was_started_again_counts_for_no_later_controller(
    lab: Lab, tmp_path: Path
) -> None:
    boot, host = tmp_path / "boot-id", lab.hosts[1]
    boot.write_text("one\n")
    host.facts = attrs.evolve(host.facts, boot_id_file=str(boot))
    go = lab.hosts[0].home / "go"
    os.mkfifo(go)
    script = "echo made >> done; [ $JOBMAN_WORKER_ID = 1 ] || read -r line < go"
    lab.scene.spec = attrs.evolve(lab.scene.spec, prefix=(prefix(script),))
    lab.scene.start()
    mark = host.home / ".jobman/ready/prefix_p"
    await lab.scene.until(lambda: (mark.exists() and lab.done() == [1, 1]) or None)
    await lab.scene.crash()
    boot.write_text("two\n")
    lab.scene.start()
    await lab.scene.until(lambda: any("goes on" in said for said in lab.scene.said) or None)
    await asyncio.to_thread(go.write_text, "go\n")
    await lab.scene.over()
    assert lab.done() == [1, 2]


async def test_a_step_that_is_lost_each_time_ends_the_job(lab: Lab) -> None:
    script = "echo made >> done; rm -rf .jobman"
    lab.scene.spec = attrs.evolve(lab.scene.spec, prefix=(prefix(script, workers=Workers((1,))),))
    assert await lab.drive() is EndingKind.PREFIX_FAIL
    why = "host 1: prefix script p: its processes are gone without a record"
    assert (await lab.reason()).startswith(why)
    assert lab.done() == [0, 6]


@pytest.mark.parametrize(
    ("required", "ends"), [(True, EndingKind.PREFIX_FAIL), (False, EndingKind.DONE)]
)
async def test_a_prefix_script_for_hosts_that_are_not_there_has_not_gone_well(
    lab: Lab, required: bool, ends: EndingKind
) -> None:
    script = prefix("true", workers=Workers((5,)), required=required)
    lab.scene.spec = attrs.evolve(lab.scene.spec, prefix=(script,))
    assert await lab.drive() is ends
    said = [await lab.reason(), *lab.scene.said]
    why = "prefix script p: the slice has 2 hosts, none of those asked for"
    assert any(why in each for each in said)


async def test_a_stop_ends_what_prepares_hosts(lab: Lab) -> None:
    script = "echo $$ > pid; echo began >> done; exec sleep 10000"
    lab.scene.spec = attrs.evolve(lab.scene.spec, prefix=(prefix(script),))
    lab.scene.start()
    await lab.scene.until(lambda: lab.done() == [1, 1] or None)
    pids = [(host.home / "pid").read_text().strip() for host in lab.hosts]
    assert all(map(alive, pids))
    await lab.scene.crash()
    await lab.scene.store.set_desired(lab.scene.job, Desired.STOPPED, Note("job.stopped", "stops"))
    async with lab.scene.acting() as ctx:
        ending = asyncio.create_task(wind_down(ctx))
        await lab.scene.until(lambda: ending.done() or None)
        await ending
    assert not any(map(alive, pids))


async def test_what_a_step_leaves_running_stays_while_attempts_come_and_go(lab: Lab) -> None:
    script = (
        "setsid sh -c 'echo $$ > pid; exec sleep 10000' > /dev/null 2>&1 & "
        "while [ ! -s pid ]; do sleep 0.05; done"
    )
    lab.scene.spec = attrs.evolve(lab.scene.spec, prefix=(prefix(script),))
    await lab.drive()
    await lab.again()
    pids = [(host.home / "pid").read_text().strip() for host in lab.hosts]
    assert all(map(alive, pids))
    for pid in pids:
        os.kill(int(pid), signal.SIGKILL)


async def test_storage_is_let_go_of_before_the_slice_is_given_back(lab: Lab) -> None:
    lab.scene.storages = (Disk(lab.scene.cloud.context),)
    await lab.drive()
    wish = Note("job.cancelled", "cancels")
    await lab.scene.store.set_desired(lab.scene.job, Desired.CANCELLED, wish)
    async with lab.scene.acting() as ctx:
        ending = asyncio.create_task(wind_down(ctx))
        await lab.scene.until(lambda: ending.done() or None)
        await ending
    assert lab.done("let-go") == [1, 1]


@pytest.mark.parametrize(("marks", "again"), [(Marks.ALL, [2, 2]), (Marks.OF_PREFIX, [1, 1])])
async def test_steps_can_be_done_again_though_they_stand(
    lab: Lab, marks: Marks, again: list[int]
) -> None:
    lab.scene.environment = Made(lab.scene.cloud.context)
    lab.scene.spec = attrs.evolve(lab.scene.spec, prefix=(prefix("echo ran >> ran"),))
    await lab.drive()
    async with lab.scene.acting() as ctx:
        slice_ = (await ctx.record()).slice
        assert slice_
        await forget(ctx, slice_, marks)
    await lab.again()
    assert lab.done() == again
    assert lab.done("ran") == [2, 2]


async def test_one_question_tells_all_that_stands_on_a_host(lab: Lab) -> None:
    context = lab.scene.cloud.context
    lab.scene.environment, lab.scene.storages = Made(context), (Disk(context),)
    lab.scene.spec = attrs.evolve(lab.scene.spec, prefix=(prefix("true"), prefix("true", "q")))

    def said(host: FakeHost) -> tuple[int, bool]:
        """Give how often it was asked what stands, and whether a step was told to run."""
        lines = [" ".join(command.argv) for command in host.ran]
        host.ran.clear()
        return sum("jobman-step" in line for line in lines), any(" step-" in line for line in lines)

    await lab.drive()
    assert [said(host) for host in lab.hosts] == [(1, True)] * 2
    await lab.again()
    assert [said(host) for host in lab.hosts] == [(1, False)] * 2


async def test_without_set_up_hosts_are_taken_as_they_are(lab: Lab) -> None:
    class Checked(Made):
        def problems(self, spec: JobSpec) -> Sequence[HostProblem]:
            script = "echo asked >> asked; exit 1"
            return [HostProblem("made", script, script, "make it", cheap=True, fatal=True)]

    lab.scene.environment, lab.scene.set_up = Checked(lab.scene.cloud.context), False
    lab.scene.spec = attrs.evolve(lab.scene.spec, prefix=(prefix("echo ran >> ran"),))
    assert await lab.drive() is EndingKind.DONE
    assert (lab.done(), lab.done("ran"), lab.done("asked")) == ([0, 0], [0, 0], [0, 0])


async def test_a_program_that_runs_is_adopted_before_anything_is_prepared(lab: Lab) -> None:
    lab.scene.environment = environment = Made(lab.scene.cloud.context)
    go = lab.hosts[0].home / "go"
    os.mkfifo(go)
    work = CommandMode("echo ran >> ran; read -r line < go", Workers((0,)))
    lab.scene.spec = attrs.evolve(lab.scene.spec, work=work)
    lab.scene.start()
    await lab.scene.until(lambda: lab.done("ran")[0] or None)
    await lab.scene.crash()
    environment.script += "; true"
    lab.scene.start()
    await lab.scene.until(lambda: any("adopts" in said for said in lab.scene.said) or None)
    assert lab.done() == [1, 1]
    await asyncio.to_thread(go.write_text, "go\n")
    await lab.scene.over()
    assert lab.done("ran") == [1, 0]


async def test_secrets_of_a_step_stand_in_no_command_line_and_no_open_file(lab: Lab) -> None:
    script = "cat /proc/self/cmdline /proc/$PPID/cmdline > lines; cat > /dev/null"
    secret = Command(("sh", "-c", script), stdin=b"hunter2")
    lab.scene.environment = environment = Made(lab.scene.cloud.context)
    environment.setup = lambda spec, name: [secret]  # type: ignore[method-assign]
    assert await lab.drive() is EndingKind.DONE
    home = lab.hosts[0].home
    assert b"hunter2" not in (home / "lines").read_bytes()
    for path in home.rglob("*"):
        if path.is_file() and b"hunter2" in path.read_bytes():
            assert path.stat().st_mode & 0o077 == 0


def test_the_content_of_a_step_is_all_that_it_does() -> None:
    def step(*commands: Command, **more: Any) -> str:
        return HostStep("k", "t", commands, **more).content

    plain = step(Command(("a", "b")))
    assert plain == step(Command(("a", "b")), env={"TOKEN": "not part of it"})
    others = {
        step(Command(("ab",))),
        step(Command(("a",)), Command(("b",))),
        step(Command(("a", "b"), stdin=b"x")),
        step(Command(("a", "b"), env={"X": "1"})),
        step(Command(("a", "b"), cwd="x")),
        step(),
    }
    assert len(others | {plain}) == 7
