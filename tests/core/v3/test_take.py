"""What is taken over from Jobman v3, what is not, and that nothing is lost or done twice."""

import asyncio
import os
import shutil
import signal
import stat
import sys
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.core.v3.conftest import STATE

from jobman_core.app import App
from jobman_core.errors import NotFoundError
from jobman_core.models.task import TaskStatus
from jobman_core.models.v3 import TakenOver
from jobman_core.v3.take import plan_of, take_over
from jobman_core.v3.tree import without_own_keys


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def shared(home: Path) -> Path:
    """Give a home for a group."""
    home.mkdir()
    home.chmod(0o2770)
    return home


async def taken(folder: Path, home: Path, live: Collection[str] = ()) -> TakenOver:
    """Take over, as if these sessions lived."""

    async def sessions() -> Collection[str]:
        return live

    async with App.at(home, make=True) as app:
        hub = await app._ready(make=True)
        return await take_over(folder, hub, sessions=sessions)


async def planned(folder: Path, home: Path) -> TakenOver:
    async with App.at(home) as app:
        return await plan_of(folder, app._surroundings(), None, app.user)


async def said(app: App, **of_what: object) -> bytes:
    """Give all that `logs` shows."""
    chunks = [chunk async for chunk in app.logs(**of_what)]  # type: ignore[arg-type]
    return b"".join(chunk.data for chunk in chunks)


def everything(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Give all files of a folder with their times."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.lstat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


async def test_jobs_come_as_stopped_with_their_ids_names_and_owners(
    checkout: Path, home: Path
) -> None:
    found = await taken(checkout, home)
    assert found.problems == ()
    assert [(job.old_id, job.id, job.user) for job in found.jobs] == [
        ("000045", "000045", "alice"),
        ("000047", "000047", "alice"),
        ("000050", "000050", "bob"),
    ]
    async with App.at(home) as app:
        jobs = {view.id: view for view in await app.list()}
    assert jobs["000047"].name == "myproject-qw-v6e-64_3"
    assert (jobs["000050"].name, jobs["000050"].user) == ("holder_000050", "bob")
    assert {view.status for view in jobs.values()} == {"DEAD"}
    assert jobs["000050"].reason == "taken over from Jobman v3, and not started since"


async def test_tpus_are_told_with_the_command_that_deletes_them(checkout: Path, home: Path) -> None:
    def delete(kind: str, name: str) -> str:
        where = "--zone us-central1-b --project my-project"
        return f"gcloud compute tpus {kind} delete {name} {where}"

    found = await taken(checkout, home)
    assert [job.slice.remedy for job in found.jobs[1:]] == [
        f"{delete('queued-resources', 'myproject-qw-v6e-64_3')} --force",
        delete("tpu-vm", "holder_000050"),
    ]


async def test_a_job_can_be_planned_and_started_here(checkout: Path, home: Path) -> None:
    await taken(checkout, home)
    for user, job in (("alice", "000045"), ("bob", "000050")):
        config = home / "jobs" / user / job / "config.yaml"
        assert "num_workers" not in config.read_text()
        async with App.at(home) as app:
            detail = await app.show(job)
            (look,) = await app.validate([config])
        assert detail.settings
        assert look.faults == ()
    async with App.at(home) as app:
        workers = (await app.queue(home / "queue_machines/tasks.yaml")).workers
    assert workers["v6e-64"].stopped == ("000045", "000047")


async def test_logs_of_jobs_commands_and_tasks_are_shown(checkout: Path, home: Path) -> None:
    await taken(checkout, home)
    tasks = home / "queue_machines/tasks.yaml"
    async with App.at(home) as app:
        assert await said(app, job="000050", controller=True) == b"job 000050 says hello\n"
        assert await said(app, job="000050", worker=1) == b"third run, too\n"
        of_task = {"queue": tasks, "task": "train-model-seed42"}
        assert await said(app, **of_task) == b"step 2\ndone\n"
        assert await said(app, **of_task, run=1) == b"step 1\n"
        assert len((await app.queue_task(tasks, "secret-probe")).logs) == 1


async def test_logs_of_tasks_are_shown_where_the_jobs_that_ran_them_are_no_more(
    checkout: Path, home: Path
) -> None:
    for job in ("000045", "000047"):
        shutil.rmtree(checkout / "jobs/alice" / job)
    await taken(checkout, home)
    async with App.at(home) as app:
        of_task = {"queue": home / "queue_machines/tasks.yaml", "task": "train-model-seed42"}
        assert await said(app, **of_task, run=1) == b"step 1\n"
        assert await said(app, **of_task) == b"step 2\ndone\n"


async def test_what_v3_ran_is_no_part_of_what_was_used_here(checkout: Path, home: Path) -> None:
    await taken(checkout, home)
    async with App.at(home) as app:
        used = await app.usage(datetime(2020, 1, 1, tzinfo=UTC), datetime(2099, 1, 1, tzinfo=UTC))
    assert [*used.shares] == []


async def test_queues_come_with_their_history_and_what_was_done_stays_done(
    checkout: Path, home: Path
) -> None:
    found = await taken(checkout, home)
    tasks = home / "queue_machines/tasks.yaml"
    assert found.queues == (tasks,)
    async with App.at(home) as app:
        view = await app.queue(tasks)
    statuses = {task.id: task.status for task in view.tasks}
    assert statuses["train-model-seed42"] is TaskStatus.DONE
    assert statuses["train-model-seed43"] is TaskStatus.PENDING


async def test_the_checkout_stays_as_it_was(checkout: Path, home: Path) -> None:
    before = everything(checkout)
    await taken(checkout, home)
    assert everything(checkout) == before


async def test_a_second_time_nothing_is_done_twice(checkout: Path, home: Path) -> None:
    await taken(checkout, home)
    before = everything(home / "jobs" / "alice") | everything(home / "jobs" / "tasks")
    again = await taken(checkout / "jobs", home)
    assert (again.jobs, again.queues, again.files, again.problems) == ((), (), 0, ())
    assert again.known == 4
    assert everything(home / "jobs" / "alice") | everything(home / "jobs" / "tasks") == before
    shutil.copytree(checkout / "jobs/bob/000050", checkout / "jobs/bob/000052")
    config = checkout / "jobs/bob/000052/config.yaml"
    config.write_text(config.read_text().replace("holder_000050", "holder_000052"))
    more = await taken(checkout, home)
    assert [job.id for job in more.jobs] == ["000052"]


async def test_two_at_once_take_each_thing_over_once(checkout: Path, home: Path) -> None:
    async with App.at(home, make=True) as app:
        await app._ready(make=True)
    both = await asyncio.gather(taken(checkout, home), taken(checkout, home))
    assert [found.problems for found in both] == [(), ()]
    assert sorted(len(found.jobs) for found in both) == [0, 3]
    assert sorted(found.known for found in both) == [0, 4]


async def test_what_was_killed_in_the_midst_is_done_by_the_next_with_the_same_ids(
    checkout: Path, home: Path
) -> None:
    (checkout / "jobs/alice/000047/logs/large.log").write_bytes(bytes(4 << 20))
    # No file may grow beyond this, and who tries is killed.
    limit = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
    limit += f"resource.setrlimit(resource.RLIMIT_FSIZE, ({2 << 20}, {2 << 20}))\n"
    command = "from jobman_cli.main import main; import sys; sys.exit(main())"
    killed = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", limit + command, "--home", home, "import-v3", checkout),
        stdout=asyncio.subprocess.DEVNULL,
    )
    assert await killed.wait() == -signal.SIGXFSZ
    found = await taken(checkout, home)
    assert found.problems == ()
    async with App.at(home) as app:
        assert [view.id for view in await app.list()] == ["000045", "000047", "000050"]
    assert (home / "jobs/alice/000047/logs/large.log").stat().st_size == 4 << 20
    assert not list((home / "jobs/alice").rglob("*.tmp"))


async def test_a_dry_run_says_the_same_and_writes_nothing(checkout: Path, home: Path) -> None:
    before = everything(checkout)
    plan = await planned(checkout, home)
    assert everything(home) == {}
    assert everything(checkout) == before
    assert plan == await taken(checkout, home)


async def test_ids_that_are_taken_are_replaced(checkout: Path, home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(checkout, other)
    for path in other.rglob("config.yaml"):
        path.write_text(path.read_text().replace("holder", "keeper").replace("-qw-", "-w-"))
    await taken(checkout, home)
    (home / "jobs/alice/000051").mkdir()
    found = await taken(other, home)
    assert [(job.old_id, job.id) for job in found.jobs] == [
        ("000045", "000052"),
        ("000047", "000053"),
        ("000050", "000054"),
    ]
    async with App.at(home) as app:
        assert await said(app, job="000054", worker=0) == b"third run\n"
        assert [view.user for view in await app.list()].count("bob") == 2


async def test_a_name_that_is_taken_is_told_and_the_rest_is_imported(
    checkout: Path, home: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    shutil.copytree(checkout, other)
    config = other / "jobs/bob/000050/config.yaml"
    config.write_text(config.read_text().replace("holder", "keeper"))
    await taken(checkout, home)
    found = await taken(other, home)
    assert [job.name for job in found.jobs] == ["keeper_000050"]
    assert len(found.problems) == 2
    assert "job 000045 has the name 'myproject-qw-v6e-64_1'" in found.problems[0]


async def test_a_checkout_that_is_the_home_itself_is_taken_over_in_place(checkout: Path) -> None:
    found = await taken(checkout, checkout)
    assert found.problems == ()
    assert [job.id for job in found.jobs] == ["000045", "000047", "000050"]
    assert found.files == 0
    folder = checkout / "jobs/bob/000050"
    assert "num_workers: 16" in (folder / "config.v3.yaml").read_text()
    assert (checkout / "queue_machines/tasks_state.v3.yaml").read_text() == STATE
    async with App.at(checkout) as app:
        assert (await app.validate([folder / "config.yaml"]))[0].faults == ()
        assert await said(app, job="000050", worker=0) == b"third run\n"
        assert await said(
            app, queue=checkout / "queue_machines/tasks.yaml", task="train-model-seed42"
        )
    again = await taken(checkout, checkout)
    assert (again.jobs, again.problems, again.known) == ((), (), 4)


async def test_a_checkout_where_jobman_was_used_already(checkout: Path) -> None:
    (checkout / "job.yaml").write_text(
        "job: {name: new, session: process}\ntpu: {cloud: local, accelerator: v4-8}\n"
    )
    async with App.at(checkout, make=True) as app:
        (made,) = await app.create(checkout / "job.yaml", count=1, start=False)
    found = await taken(checkout, checkout)
    assert (found.problems, len(found.jobs)) == ((), 3)
    assert made.job.id not in {job.id for job in found.jobs}


async def test_what_still_runs_is_left_alone(checkout: Path, home: Path) -> None:
    found = await taken(checkout, home, {"job_000047", "mine"})
    assert [job.id for job in found.jobs] == ["000045", "000050"]
    job, queue = found.problems
    assert "it still runs in tmux: end it with v3's own `jobman stop 000047`, or `tmux" in job
    assert queue.endswith("tasks.yaml: v3's job 000047 works on it: end that job first")
    assert not any("queue_machines" in name for name in everything(home))
    assert (await taken(checkout, home)).problems == ()


async def test_a_queue_one_of_whose_tasks_still_runs_is_left_alone(
    checkout: Path, home: Path
) -> None:
    (problem,) = (await taken(checkout, home, {"job_000048"})).problems
    assert "task train-model-seed43 runs on v3's job 000048: end that job first" in problem


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("config.yaml", "job: [", "config.yaml:"),
        ("config.yaml", "\0", "has no place in a text file"),
        ("config.yaml", "job:\n  name: x\n  lop: true\ntpu:\n  accelerator: v4-8\n", "lop"),
        ("config.yaml", "", "config.yaml"),
    ],
)
async def test_a_bad_job_is_told_and_the_rest_is_imported(
    checkout: Path, home: Path, name: str, text: str, told: str
) -> None:
    (checkout / "jobs/alice/000045" / name).write_text(text)
    found = await taken(checkout, home)
    assert [job.id for job in found.jobs] == ["000047", "000050"]
    assert found.problems
    assert told in found.problems[0]
    assert all("\n" not in line for line in found.problems)


async def test_odd_files_are_told_a_line_each(checkout: Path, home: Path) -> None:
    jobs = checkout / "jobs"
    (jobs / "alice/000046").mkdir()
    (jobs / "alice/notes").mkdir()
    (jobs / "eve").symlink_to("/etc")
    (jobs / "alice/000049").symlink_to(jobs / "bob/000050")
    os.mkfifo(jobs / "bob/000050/logs/pipe.log")
    (jobs / "bob/000050/logs/passwd.log").symlink_to("/etc/passwd")
    (jobs / "stray.txt").touch()
    (jobs / ".jobman/meta.json").write_text("[" * 100_000)
    (checkout / "queue_machines/lost_state.yaml").write_text("tasks: {}\n")
    (jobs / "f\udcff/000050").mkdir(parents=True)
    (jobs / "tasks/t\udcff").mkdir()
    (jobs / "dan/000050").mkdir(parents=True)
    (jobs / "dan/000050/config.yaml").symlink_to(jobs / "bob/000050/config.yaml")
    found = await taken(checkout, home)
    assert [job.id for job in found.jobs] == ["000045", "000047", "000050"]
    for what in (
        "000046",
        "eve",
        "000049",
        "pipe.log",
        "passwd.log",
        "lost.yaml",
        "dan",
        "/f",
        "/t",
    ):
        assert [line for line in found.problems if what in line], what
    assert any("notes is no folder of a job" in line for line in found.notes)
    assert any("meta.json cannot be read" in line for line in found.notes)
    assert not (home / "jobs/bob/000050/logs/passwd.log").exists()


async def test_in_a_home_that_a_group_shares_everyone_takes_over_their_own(
    checkout: Path, shared: Path
) -> None:
    home, me = shared, App.at(shared).user
    (checkout / "jobs/alice").rename(checkout / "jobs" / me)
    found = await taken(checkout, home)
    assert [(job.id, job.user) for job in found.jobs] == [("000045", me), ("000047", me)]
    (note,) = found.notes
    assert note.endswith("this home is shared: bob takes it over, by the same command")
    folder = home / "jobs" / me / "000045"
    assert stat.S_IMODE((folder / "logs/job.log").stat().st_mode) & 0o070 == 0o040
    assert stat.S_IMODE((folder / "config.yaml").stat().st_mode) & 0o077 == 0


async def test_a_large_log_is_not_written_twice(checkout: Path, home: Path) -> None:
    log = checkout / "jobs/tasks/train-model-seed42/run_002_job000047_worker_1.log"
    with log.open("wb") as file:
        file.truncate(300 << 20)
    await taken(checkout, home)
    copy = home / "jobs/tasks/train-model-seed42" / log.name
    assert copy.samefile(log)


async def test_a_folder_that_is_none_of_v3_is_refused(tmp_path: Path, home: Path) -> None:
    with pytest.raises(NotFoundError, match="name a checkout of Jobman v3"):
        await planned(tmp_path / "nowhere", home)


def test_what_v3_adds_to_a_job_file_is_left_out_and_nothing_else() -> None:
    text = (
        "job:\n  name: a\n  id: '1'\n  dir: /x\n  environment:\n    id: kept\n"
        "tpu:\n  ips:\n  - worker: 0\n    external_ip: 1.2.3.4\n  zone: z\ncommand:\n  cmd: |\n"
        "    ips: kept\n    id: 1\n"
    )
    assert without_own_keys(text) == (
        "job:\n  name: a\n  environment:\n    id: kept\n"
        "tpu:\n  zone: z\ncommand:\n  cmd: |\n    ips: kept\n    id: 1\n"
    )
