"""One job, from its file to its end: created, seen, followed, stopped, deleted."""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.lab import Lab

from jobman_core.app import App
from jobman_core.models.lease import Controller
from jobman_core.process import ProcessIdentity, machine_id
from jobman_core.run.lease import Tenure

pytestmark = pytest.mark.e2e

ATTEMPTS = "jobs/.jobman/local/*/hosts/0/.jobman/attempts/*"
TICKS = "for i in $(seq 1 {n}); do echo tick $i; sleep 0.2; done"


def test_create_gives_the_id_and_the_job_is_seen_and_followed_to_its_end(lab: Lab) -> None:
    config = lab.job(cmd="echo hello from $JOBMAN_JOB_ID\nsleep 1\necho bye")
    said = lab.run("create", config)
    assert said.out == "000001\n"
    listed = lab.json("list")[0]
    assert listed["id"] == "000001"
    assert listed["name"] == "job_000001"
    followed = lab.run("logs", "-f", "1")
    assert followed.out == "hello from 000001\nbye\n"
    shown = lab.json("show", "000001")
    assert shown["status"] == "DONE"
    assert shown["slice"]["state"] == "READY"
    assert [a["outcome"] for a in shown["attempts"]] == ["succeeded"]
    assert "still costs" in shown["reason"]


def test_run_does_the_same_in_the_foreground(lab: Lab) -> None:
    job = lab.create(lab.job(cmd="echo here"), "--no-start")
    assert lab.status(job) == "DEAD"
    lab.run("run", job)
    assert lab.status(job) == "DONE"
    assert "here" in lab.run("logs", job).out


def test_run_ends_with_1_for_a_job_that_failed(lab: Lab) -> None:
    job = lab.create(lab.job(cmd="exit 3"), "--no-start")
    lab.run("run", job, code=1)
    shown = lab.json("show", job)
    assert shown["status"] == "FAILED"
    assert shown["attempts"][0]["exit_code"] == 3


def test_run_of_a_job_that_has_a_live_controller_is_refused_and_resume_says_that_it_runs(
    lab: Lab,
) -> None:
    job = lab.create(lab.job(cmd="sleep 60"))
    lab.until_status(job, "RUNNING")
    assert "live controller" in lab.run("run", job, code=4).err
    assert "it runs already\n" in lab.run("resume", job).out
    # What was asked for and is not done is said.
    anew = f"it runs already: `jobman reboot {job} --force-prefix` starts it afresh"
    assert anew in lab.run("resume", job, "--force-prefix").out
    assert len(lab.json("show", job)["attempts"]) == 1


def test_a_quick_start_file_with_null_sections_and_no_remote_user_works(lab: Lab) -> None:
    config = lab.write(
        "quick_start.yaml",
        """
        job:
          name: quick-start
          env_type: null
          loop: false
        tpu:
          cloud: local
          allocation_mode: tpu-vm
          accelerator: v4-8
          name: quick-start
          zone: us-central2-b
          pricing: spot
          flags: null
          tags: null
          metadata: null
        gcsfuse: null
        ssh: null
        venv: null
        conda: null
        docker: null
        command:
          cmd: |
            echo quick
          workers: all
        """,
    )
    job = lab.create(config)
    lab.until_status(job, "DONE")
    assert lab.run("logs", job).out == "quick\n"


def test_the_program_sees_the_variables_that_name_its_attempt(lab: Lab) -> None:
    names = [
        "TASK_ID",
        "RUN_ID",
        "ATTEMPT",
        "JOB_ID",
        "WORKER_ID",
        "NUM_WORKERS",
        "WORKER_IPS",
        "ACCELERATOR",
        "ZONE",
    ]
    script = "\n".join(f'echo "{name}=$JOBMAN_{name}"' for name in names)
    job = lab.create(lab.job(cmd=script, accelerator="v4-16"))
    lab.until_status(job, "DONE")
    for worker in (0, 1):
        said = dict(
            line.split("=", 1)
            for line in lab.run("logs", job, "--worker", str(worker)).out.splitlines()
        )
        assert said.pop("RUN_ID")
        assert said == {
            "TASK_ID": "job_000001",
            "ATTEMPT": "1",
            "JOB_ID": "000001",
            "WORKER_ID": str(worker),
            "NUM_WORKERS": "2",
            "WORKER_IPS": "127.0.0.1,127.0.0.1",
            "ACCELERATOR": "v4-16",
            "ZONE": "here",
        }


def test_a_command_runs_on_those_of_several_hosts_that_it_names(lab: Lab) -> None:
    config = lab.job(cmd="echo $JOBMAN_WORKER_ID of $JOBMAN_NUM_WORKERS", accelerator="v4-32")
    config.write_text(config.read_text() + "  workers: [1, 3]\n")
    job = lab.create(config)
    lab.until_status(job, "DONE")
    logs = (lab.root / "jobs/ada" / job / "logs").glob("command_run_001_*")
    assert {log.name[-5:-4]: log.read_text() for log in logs} == {"1": "1 of 2\n", "3": "3 of 2\n"}


def test_without_command_and_queue_the_slice_is_prepared_and_held(lab: Lab) -> None:
    job = lab.create(lab.job(cmd=None))
    lab.until_status(job, "IDLE")
    lab.until("it says so", lambda: "holds" in lab.json("show", job)["reason"])
    assert lab.run("stop", job).code == 0
    assert lab.status(job) == "IDLE"


def test_false_in_a_pipe_fails_the_job_and_pipefail_false_brings_the_old_way_back(
    lab: Lab,
) -> None:
    new = lab.create(lab.job("new", cmd="false | tee log"))
    old = lab.create(lab.job("old", cmd="false | tee log", extra="pipefail: false"))
    lab.until_status(new, "FAILED")
    lab.until_status(old, "DONE")


def test_quotes_dollars_here_documents_and_utf8_reach_the_program_as_they_are(lab: Lab) -> None:
    config = lab.write(
        "traps.yaml",
        r"""
        job:
          name: traps
          environment:
            SHELL_TEXT: '$(touch /tmp/jobman-never) `id` "; rm -rf $HOME; \" \\ ''x'''
            LINES: "one\ntwo"
            UMLAUT: "grüße 🚀"
        tpu: {cloud: local, accelerator: v4-8, zone: here}
        command:
          cmd: |
            printf '%s\n' "$SHELL_TEXT" "$LINES" "$UMLAUT"
            cat <<'EOF'
            $HOME "quoted" \back
            EOF
            x='it'"'"'s'; echo "$x" "${x:-none}" $((1 + 2))
            python3 -c "print(\"a\\tb\")" 2>/dev/null || printf 'a\tb\n'
        """,
    )
    job = lab.create(config)
    lab.until_status(job, "DONE")
    assert lab.run("logs", job).out.splitlines() == [
        "$(touch /tmp/jobman-never) `id` \"; rm -rf $HOME; \\\" \\\\ 'x'",
        "one",
        "two",
        "grüße 🚀",
        '$HOME "quoted" \\back',
        "it's it's 3",
        "a\tb",
    ]
    assert not Path("/tmp/jobman-never").exists()


#: Four processes on every host, three of them out of the reach of a simple kill.
STRAY = """
[ "$JOBMAN_ATTEMPT" = 1 ] || exec sleep 600
setsid bash -c 'echo $$ >> pids; exec sleep 600' &
(setsid setsid bash -c 'trap "" TERM; echo $$ >> pids; sleep 600; sleep 600' &) &
env -i setsid bash -c 'echo $$ >> pids; exec sleep 600' &
echo $$ >> pids
sleep 600
"""


@pytest.mark.parametrize(
    "command", [("stop",), ("cancel",), ("clean", "--yes"), ("reboot",)], ids=lambda c: c[0]
)
def test_a_program_and_all_its_descendants_are_gone_on_every_host_when_the_command_returns(
    lab: Lab, command: tuple[str, ...]
) -> None:
    job = lab.create(lab.job(cmd=STRAY, accelerator="v4-32"))
    programs = _programs(lab, 16)
    lab.run(*command, job)
    assert [program.state() for program in programs] == ["gone"] * 16


def test_stop_says_what_became_of_the_job(lab: Lab) -> None:
    job = lab.create(lab.job(cmd=STRAY))
    programs = _programs(lab, 4)
    done = lab.json("stop", job)
    assert done == [{"id": job, "status": "IDLE", "error": None}]
    assert [program.state() for program in programs] == ["gone"] * 4
    shown = lab.json("show", job)
    assert [(a["outcome"], a["cause"]) for a in shown["attempts"]] == [("interrupted", "stopped")]
    assert "costs" in shown["reason"]


def _programs(lab: Lab, expected: int) -> list[ProcessIdentity]:
    """Wait until so many processes on all hosts have said that they are there."""

    def look() -> list[str] | None:
        files = lab.root.glob("jobs/.jobman/local/*/hosts/*/pids")
        pids = [pid for file in files for pid in file.read_text().split()]
        return pids if len(pids) == expected else None

    pids = lab.until(f"{expected} processes", look)
    return [ProcessIdentity.of(int(pid)) for pid in pids]


def test_a_stopped_job_is_resumed_with_its_slice(lab: Lab) -> None:
    job = lab.create(lab.job(cmd=TICKS.format(n=300)))
    lab.until_output("jobs/ada/*/logs/command_run_001_worker_0.log", "tick 2")
    before = lab.json("show", job)["slice"]["name"]
    lab.run("stop", job)
    lab.run("resume", job)
    lab.until_output("jobs/ada/*/logs/command_run_002_worker_0.log", "tick 2")
    assert lab.json("show", job)["slice"]["name"] == before


def test_reboot_takes_in_an_edited_snapshot(lab: Lab) -> None:
    job = lab.create(lab.job(cmd="echo before\nsleep 600"))
    lab.until_output("jobs/ada/*/logs/command_run_001_worker_0.log", "before")
    snapshot = lab.root / "jobs/ada" / job / "config.yaml"
    snapshot.write_text(snapshot.read_text().replace("echo before", "echo after"))
    lab.run("reboot", job)
    lab.until_output("jobs/ada/*/logs/command_run_002_worker_0.log", "after")


def test_cancel_gives_the_slice_back_and_keeps_the_job_listed(lab: Lab) -> None:
    job = lab.create(lab.job(cmd="sleep 600"))
    lab.until_status(job, "RUNNING")
    lab.run("cancel", job)
    assert lab.slices() == []
    assert [(j["id"], j["status"]) for j in lab.json("list")] == [(job, "CANCELLED")]


def test_delete_leaves_nothing_of_the_slice_and_clean_removes_the_folder(lab: Lab) -> None:
    first = lab.create(lab.job(cmd="setsid sleep 600 & sleep 600"))
    second = lab.create(lab.job("other", cmd="sleep 600"))
    lab.until_status(first, "RUNNING")
    lab.until_status(second, "RUNNING")
    lab.run("delete", first, code=2)
    assert lab.status(first) == "RUNNING"
    lab.run("delete", "--yes", first)
    lab.run("clean", "--yes", second)
    assert lab.slices() == []
    assert lab.json("list") == []
    assert [j["status"] for j in lab.json("list", "--all")] == ["DELETED", "DELETED"]
    assert (lab.root / "jobs/ada" / first / "logs").exists()
    assert not (lab.root / "jobs/ada" / second).exists()
    assert lab.processes() == []


def test_a_program_survives_its_controller_and_is_adopted_with_no_gap_and_no_repeat(
    lab: Lab,
) -> None:
    job = lab.create(lab.job(cmd=TICKS.format(n=40)))
    log = lab.until_output("jobs/ada/*/logs/command_run_001_worker_0.log", "tick 3")
    lab.kill_controller(job)
    shown = lab.json("show", job)
    assert shown["status"] == "RUNNING"
    assert "no controller" in shown["reason"]
    size = log.stat().st_size
    (said,) = lab.root.glob(f"{ATTEMPTS}/log")
    lab.until("its host hears more", lambda: said.stat().st_size > size + len("tick 9\n"))
    assert log.stat().st_size == size
    lab.run("resume", job)
    lab.until_status(job, "DONE")
    assert log.read_text() == "".join(f"tick {i}\n" for i in range(1, 41))
    attempts = lab.json("show", job)["attempts"]
    assert [(a["number"], a["outcome"]) for a in attempts] == [(1, "succeeded")]


def test_a_program_that_ended_while_nobody_looked_is_not_run_again(lab: Lab) -> None:
    job = lab.create(lab.job(cmd="echo once >> $HOME/runs\nsleep 1"))
    lab.until("it runs", lambda: list(lab.root.glob("jobs/.jobman/local/*/hosts/0/runs")))
    lab.kill_controller(job)
    lab.until("its host knows the end", lambda: list(lab.root.glob(f"{ATTEMPTS}/final")))
    lab.run("resume", job)
    lab.until_status(job, "DONE")
    (runs,) = lab.root.glob("jobs/.jobman/local/*/hosts/0/runs")
    assert runs.read_text() == "once\n"


def test_a_controller_that_hangs_is_replaced_by_resume_and_does_no_harm_when_it_wakes(
    lab: Lab,
) -> None:
    job = lab.create(lab.job(cmd=TICKS.format(n=30)))
    log = lab.until_output("jobs/ada/*/logs/command_run_001_worker_0.log", "tick 3")
    pid = lab.kill_controller(job, signal.SIGSTOP)
    assert "hangs" in lab.json("show", job)["reason"]
    lab.run("resume", job)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)
    assert lab.controller(job) != pid
    lab.until_status(job, "DONE")
    assert log.read_text() == "".join(f"tick {i}\n" for i in range(1, 31))
    assert len(lab.json("show", job)["attempts"]) == 1


def test_a_controller_that_wakes_after_its_job_went_to_another_leaves_it_alone(lab: Lab) -> None:
    job = lab.create(lab.job(cmd="echo $$ >> pids; until [ -e go ]; do sleep 0.1; done; echo on"))
    (program,) = _programs(lab, 1)
    said = lab.until_output("jobs/ada/*/logs/job.log", "on hosts 0")
    pid = lab.kill_controller(job, signal.SIGSTOP)
    controller = ProcessIdentity.of(pid)

    async def wake_it_without_its_job(app: App) -> None:
        await app.list()
        hub = app._opened
        assert hub is not None
        async with Tenure(hub.store, hub.clock, hub.terms) as tenure:
            holder = (await hub.record(job)).holder
            assert holder is not None
            await hub.store.take_lease(job, tenure.id, instead_of=holder[0])
            os.kill(pid, signal.SIGCONT)
            async with asyncio.timeout(40):
                while controller.state() != "gone":  # noqa: ASYNC110 - another process
                    await asyncio.sleep(0.1)

    lab.act(wake_it_without_its_job)
    assert "another controller has this job" in said.read_text()
    assert program.state() == "alive"
    (attempt,) = lab.json("show", job)["attempts"]
    assert attempt["outcome"] is None
    lab.run("resume", job)
    lab.until("it is adopted", lambda: "adopts" in said.read_text())
    (here,) = lab.root.glob("jobs/.jobman/local/*/hosts/0")
    (here / "go").touch()
    lab.until_status(job, "DONE")
    assert (said.parent / "command_run_001_worker_0.log").read_text() == "on\n"
    assert len(lab.json("show", job)["attempts"]) == 1


@contextlib.contextmanager
def driven_elsewhere(lab: Lab, job: str) -> Iterator[None]:
    """Let a job be held by a controller that lives and does nothing, for the length of a block."""
    stranger = subprocess.Popen(["sleep", "600"])
    me = ProcessIdentity.of(stranger.pid)

    async def hold(app: App) -> None:
        await app.list()
        hub = app._opened
        assert hub is not None
        now = hub.clock.monotonic()
        row = Controller("stranger", machine_id(), me.boot_id, me.pid, me.start, now)
        await hub.store.register(row)
        await hub.store.take_lease(job, row.id, instead_of=None)

    lab.act(hold)
    try:
        yield
    finally:
        stranger.kill()
        stranger.wait()


def test_resume_waits_for_a_controller_that_is_on_its_way_out(lab: Lab) -> None:
    job = lab.create(lab.job(cmd="sleep 600"))
    lab.until_output("jobs/ada/*/logs/job.log", "on hosts 0")
    lab.run("stop", job)
    with driven_elsewhere(lab, job), pytest.raises(TimeoutError):
        lab.act(lambda app: asyncio.wait_for(app.resume(job), 1))
    lab.run("resume", job)
    lab.until_status(job, "RUNNING")


def test_an_order_that_was_overtaken_by_a_later_one_says_so(lab: Lab) -> None:
    job = lab.create(lab.job(cmd="sleep 600"))
    lab.until_output("jobs/ada/*/logs/job.log", "on hosts 0")
    lab.run("stop", job)
    with driven_elsewhere(lab, job):
        cancelling = lab.start("cancel", job)
        lab.until("it is wanted cancelled", lambda: wanted(lab, job) == "cancelled")
        deleting = lab.start("delete", "--yes", job)
        _, err = cancelling.communicate(timeout=40)
        assert cancelling.returncode == 1
        assert "is wanted deleted by now" in err
    deleting.communicate(timeout=40)
    assert deleting.returncode == 0
    assert lab.slices() == []


def wanted(lab: Lab, job: str) -> str:
    return str(lab.act(lambda app: app.show(job)).settings["wanted"])


def test_stop_works_while_the_controller_is_dead_or_hangs(lab: Lab) -> None:
    dead = lab.create(lab.job("dead", cmd="sleep 600"))
    hung = lab.create(lab.job("hung", cmd="sleep 600"))
    for job in (dead, hung):
        lab.until_output(f"jobs/ada/{job}/logs/job.log", "on hosts 0")
    lab.kill_controller(dead)
    lab.kill_controller(hung, signal.SIGSTOP)
    lab.run("stop", dead, hung)
    for job in (dead, hung):
        assert [a["outcome"] for a in lab.json("show", job)["attempts"]] == ["interrupted"]
        assert lab.status(job) == "IDLE"


def test_stop_before_the_slice_is_ready_withdraws_the_request(lab: Lab) -> None:
    lab.write("jobman.yaml", "session: process\nclouds: {local: {provisioning: 600}}\n")
    job = lab.create(lab.job())
    lab.until("a request", lab.slices)
    lab.run("stop", job)
    assert lab.slices() == []
    assert lab.status(job) == "DEAD"


def test_a_lost_slice_ends_a_job_that_does_not_loop_as_preempted(lab: Lab) -> None:
    job = lab.create(lab.job(cmd="sleep 600"))
    lab.until_status(job, "RUNNING")
    lab.preempt(job)
    lab.until_status(job, "PREEMPTED")
    lab.until("its husk is gone", lambda: not lab.slices())


def test_a_lost_slice_is_replaced_for_a_job_that_loops(lab: Lab) -> None:
    job = lab.create(lab.job(cmd=TICKS.format(n=15), loop="true"))
    lab.until_output("jobs/ada/*/logs/command_run_001_worker_0.log", "tick 2")
    lab.preempt(job)
    lab.until_status(job, "DONE")
    shown = lab.json("show", job)
    assert [a["outcome"] for a in shown["attempts"]] == ["interrupted", "succeeded"]
    assert shown["slice"]["name"].endswith("-g2")
    assert lab.json("list")[0]["recoveries"] == 1
    assert lab.run("logs", job, "--run", "1").out.startswith("tick 1\ntick 2\n")


def test_a_command_that_fails_is_started_again_as_often_as_max_restarts_says(lab: Lab) -> None:
    job = lab.create(lab.job(cmd="exit 4", loop="true", extra="max_restarts: 2"))
    lab.until_status(job, "FAILED")
    shown = lab.json("show", job)
    assert [a["exit_code"] for a in shown["attempts"]] == [4, 4, 4]
    assert "max_restarts" in shown["reason"]


def test_on_end_delete_gives_the_slice_back(lab: Lab) -> None:
    job = lab.create(lab.job(extra="on_end: delete"))
    lab.until_status(job, "DONE")
    lab.until("the slice is gone", lambda: not lab.slices())


def test_a_second_zone_is_tried_when_the_first_has_no_capacity(lab: Lab) -> None:
    lab.write("jobman.yaml", "session: process\nclouds: {local: {capacity: {here: 1}}}\n")
    first = lab.create(lab.job("first", cmd="sleep 600"))
    lab.until_status(first, "RUNNING")
    second = lab.create(lab.job("second", cmd="echo $JOBMAN_ZONE", tpu="zones: [there]"))
    lab.until_status(second, "DONE")
    assert lab.run("logs", second).out == "there\n"
    third = lab.create(lab.job("third"))
    lab.until("it says why", lambda: "here" in lab.json("show", third)["reason"])
    assert lab.status(third) == "QUEUEING"
    lab.run("delete", "--yes", first)
    lab.until_status(third, "DONE")


def test_twenty_creates_at_once_give_distinct_ids_and_lose_none(lab: Lab) -> None:
    config = lab.job()
    started = [lab.start("create", config, "--no-start") for _ in range(20)]
    said = [process.communicate(timeout=50) for process in started]
    ids = sorted(out.strip() for out, _ in said)
    assert ids == [f"{n:06d}" for n in range(1, 21)], said
    assert [job["id"] for job in lab.json("list")] == ids


def test_a_jobs_snapshot_and_environment_are_for_its_owner_only(lab: Lab) -> None:
    job = lab.create(
        lab.job(cmd="sleep 600", extra="environment: {TOKEN: canary-4711}"),
    )
    lab.until_status(job, "RUNNING")
    lab.until_output("jobs/ada/*/logs/job.log", "on hosts")
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert b"canary-4711" not in path.read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
    holders = {p.name for p in lab.root.rglob("*") if p.is_file() and _holds(p, "canary-4711")}
    # The job's copy, the file that it is of, what that said at first, and what the host has.
    assert holders == {"config.yaml", "job.yaml", "origin.json", "env"}
    for name in ("config.yaml", "origin.json"):
        assert (lab.root / "jobs/ada" / job / name).stat().st_mode & 0o077 == 0


def _holds(path: Path, text: str) -> bool:
    return text.encode() in path.read_bytes()
