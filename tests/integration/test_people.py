"""People with accounts of their own, who use one home by its command."""

import os
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.accounts import ADA, BOB, EVE, GROUP, Account, shared_folder
from tests.support.people import Person, space

from jobman_core.process import ProcessIdentity

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.timeout(240)]


@contextmanager
def people(*accounts: Account, proc: str = "", admin: str = "") -> Iterator[list[Person]]:
    """Give some who share a home; at the end nothing of any of them may run."""
    with shared_folder() as root, space(proc) as mounts:
        lab = root / "jobman.yaml"
        lab.write_text(f"session: process\nadmins: [{admin}]\n", "utf-8")
        lab.chmod(0o644)
        persons = [Person(root, account, mounts) for account in accounts]
        yield persons
        # Root may end what everybody has, in one go.
        last = Person(root, Account(0, groups=(0,)), mounts)
        last.run("delete", "--yes", *(job["id"] for job in last.json("list")))
        persons[0].until("nothing runs", lambda: not persons[0].processes())
        assert persons[0].slices() == []


def _rights(path: Path) -> str:
    assert path.stat().st_gid == GROUP
    return f"{stat.S_IMODE(path.stat().st_mode):o}"


def test_everybody_sees_all_jobs_and_acts_on_their_own() -> None:
    with people(ADA, BOB, EVE) as (ada, bob, eve):
        hers = ada.create(ada.job("hers", cmd="echo hello; sleep 600"))
        bob.create(bob.job("his", cmd="echo hello; sleep 600"))
        for each in (ada, bob):
            each.until_output(f"jobs/{each.account.name}/*/logs/command_run_*.log", "hello")
        seen = [(job["user"], job["status"]) for job in bob.json("list")]
        assert seen == [(ADA.name, "RUNNING"), (BOB.name, "RUNNING")]
        assert "hello" in bob.run("logs", hers).out
        assert "runs hers" in bob.run("logs", "--controller", hers).out

        bob.env["USER"] = bob.env["LOGNAME"] = ADA.name
        for command in ("stop", "attach"):
            said = bob.run(command, hers, code=4)
            assert said.err.startswith(f"error: job {hers} belongs to {ADA.name}")
        assert "is not open to" in eve.run("list", code=4).err

        config = ada.root / "jobs" / ADA.name / hers / "config.yaml"
        logs = config.parent / "logs"
        assert [_rights(p) for p in (config, logs, logs / "job.log", logs / "tpu.log")] == [
            *("600", "2750", "640", "640")
        ]


def test_an_admin_ends_what_is_anothers_with_its_controller_or_without() -> None:
    with people(ADA, BOB, admin=BOB.name) as (ada, bob):
        config = ada.job("two", cmd="echo hello; sleep 600")
        live, left = ada.run("create", config, "--count", "2").out.split()
        for job in (live, left):
            ada.until_output(f"jobs/*/{job}/logs/command_run_*.log", "hello")
        assert bob.json("cancel", live)[0]["status"] == "CANCELLED"

        pid = ada.kill_controller(left)
        ada.until("it is gone", lambda: not Path(f"/proc/{pid}").exists())
        assert "no controller" in bob.json("show", left)["reason"]
        # It cannot be his: not even an admin is another account.
        assert "lacks its controller" in bob.run("resume", "--all").err
        assert f"ends by {ADA.name}'s keys alone" in bob.run("stop", left, code=1).err
        # On this machine only her account, and root, can end what runs.
        assert f"is {ADA.name}'s" in bob.run("cancel", left, code=4).err
        assert ada.json("resume", "--all")[0]["status"] == "CANCELLED"
        assert ada.slices() == []


@pytest.mark.parametrize("proc", ["", "hidepid=1", "hidepid=2"])
def test_anothers_process_is_seen_to_live_whatever_proc_shows(proc: str) -> None:
    look = (
        "import sys; from jobman_core.process import ProcessIdentity, boot_id; "
        "print(*(ProcessIdentity(int(p), int(s), boot_id()).state()"
        " for p, s in zip(sys.argv[1::2], sys.argv[2::2])))"
    )
    with shared_folder() as root, space(proc) as mounts:
        bob, me = Person(root, BOB, mounts), ProcessIdentity.of(os.getpid())
        with subprocess.Popen(["true"]) as ended:
            gone = ProcessIdentity.of(ended.pid)
        asked = [str(number) for each in (me, gone) for number in (each.pid, each.start)]
        argv = [*bob.command[:-2], "-c", look, *asked]
        said = subprocess.run(argv, env=bob.env, capture_output=True, text=True, check=True)
        assert said.stdout == "alive gone\n"


def test_workers_of_several_people_share_a_queue() -> None:
    with people(ADA, BOB) as (ada, bob):
        # Each goes on once the other is there: it takes both workers to be done.
        here = f"{ada.root}/%s.here"
        both = f"test -e {here % 'a'} -a -e {here % 'b'}"
        run = f"touch {here % '$JOBMAN_TASK_ID'}; until {both}; do sleep 0.1; done; echo done"
        tasks = ada.root / "tasks.yaml"
        listed = f"[{{id: a, run: &run '{run}'}}, {{id: b, run: *run}}]"
        tasks.write_text(f"accelerators: {{v4-8: {{tasks: {listed}}}}}", "utf-8")
        tasks.chmod(0o644)
        workers = [each.create(each.job("w", queue=str(tasks))) for each in (ada, bob)]
        for task in ("a", "b"):
            ada.until_output(f"jobs/tasks/{task}/run_*.log", "done")
        ada.until(
            "both are done",
            lambda: {task["status"] for task in ada.json("queue")["tasks"]} == {"DONE"},
        )
        logs = sorted(ada.root.glob("jobs/tasks/*/run_*.log"))
        assert {log.name.partition("_job")[2][:6] for log in logs} == set(workers)
        for task in ("a", "b"):
            assert "done" in bob.run("logs", "--task", task).out
        bob.run("queue", "--reset", "a", "--yes")
        assert "done: false" in (ada.root / "tasks_state.yaml").read_text("utf-8")
        assert [_rights(p) for p in (ada.root / "tasks_state.yaml", logs[0], logs[0].parent)] == [
            *("660", "660", "2770")
        ]
