"""The commands on jobs, over a core that is a fake."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from jobman_core.errors import JobmanError
from jobman_core.models.lease import Liveness
from jobman_core.models.status import JobStatus
from jobman_core.models.view import Done

if TYPE_CHECKING:
    from tests.cli.conftest import Cli, FakeApp


NOW = datetime(2025, 3, 9, 14, 0, tzinfo=UTC)


def calls(app: "FakeApp", method: str) -> list[tuple[Any, ...]]:
    return [call[1:] for call in app.calls if call[0] == method]


class TestCreate:
    def test_prints_the_id_alone_and_tells_the_rest_beside_it(
        self, cli: "Cli", app: "FakeApp"
    ) -> None:
        code, out, err = cli("create", "job.yaml")
        assert (code, out) == (0, "000001\n")
        assert "note: env: is passed over" in err
        assert "`jobman logs -f 000001`" in err
        assert calls(app, "create") == [(Path("job.yaml"), 1, True, ())]
        assert app.opened == [(None, True)], "it makes the home"

    def test_says_that_it_made_a_home(self, cli: "Cli", app: "FakeApp") -> None:
        app.made = True
        assert "made /home/alice/exp a home of jobman\n" in cli("create", "job.yaml").err

    def test_as_json(self, cli: "Cli") -> None:
        one = {"id": "000001", "name": "hello_000001", "status": "QUEUEING"}
        assert json.loads(cli("create", "job.yaml", "--json").out) == one

    @pytest.mark.parametrize("count", [1, 3])
    def test_with_a_count_is_a_list(self, cli: "Cli", count: int) -> None:
        made = json.loads(cli("create", "job.yaml", "--json", "--count", str(count)).out)
        assert [job["id"] for job in made] == [f"{i + 1:06d}" for i in range(count)]

    def test_not_started(self, cli: "Cli", app: "FakeApp") -> None:
        assert "`jobman resume 000001`" in cli("create", "job.yaml", "--no-start").err
        assert calls(app, "create") == [(Path("job.yaml"), 1, False, ())]

    def test_what_may_be_wrong_with_buckets_can_be_passed_over(
        self, cli: "Cli", app: "FakeApp"
    ) -> None:
        assert cli("create", "job.yaml", "--force-region").code == 0
        assert calls(app, "create") == [(Path("job.yaml"), 1, True, ("--force-region",))]
        assert cli("create", "job.yaml", "--dry-run", "--force-region").code == 0
        assert calls(app, "plan") == [(Path("job.yaml"), ("--force-region",))]

    def test_a_dry_run_shows_what_would_happen(self, cli: "Cli", app: "FakeApp") -> None:
        code, out, err = cli("create", "job.yaml", "--dry-run")
        assert code == 0
        assert out == (
            "hello\n"
            "\n"
            "on the cloud:\n"
            "  v4-8 in us-central2-b, spot\n"
            "\n"
            "command, on all hosts:\n"
            "  echo hi\n"
            "          python train.py\n"
        )
        assert err.startswith("note: something to know\n")
        assert not calls(app, "create")

    def test_a_dry_run_of_a_job_that_only_holds_says_so_of_no_host(
        self, cli: "Cli", app: "FakeApp"
    ) -> None:
        app.plan_steps = (("hold the slice", "", ""),)
        assert cli("create", "job.yaml", "--dry-run").out.endswith("\n\nhold the slice\n")

    def test_a_dry_run_of_several_says_how_many(self, cli: "Cli") -> None:
        out = cli("create", "job.yaml", "--dry-run", "--count", "2").out
        assert out.startswith("hello, 2 times, each:\n")

    def test_the_hint_that_follows_can_be_typed(self, cli: "Cli") -> None:
        err = cli("create", "job.yaml").err
        assert "`jobman logs -f 000001`" in err
        assert "`jobman show 000001`" in err

    def test_a_dry_run_as_json(self, cli: "Cli") -> None:
        plan = json.loads(cli("create", "job.yaml", "--dry-run", "--json").out)
        assert plan["cloud"] == ["v4-8 in us-central2-b, spot"]
        assert plan["steps"][0]["script"] == "echo hi\n\tpython train.py\n"


class TestList:
    def test_where_all_were_deleted_it_says_how_to_see_them(
        self, cli: "Cli", app: "FakeApp"
    ) -> None:
        app.add_job("000001", status=JobStatus.DELETED)
        code, out, err = cli("list")
        assert (code, out) == (0, "")
        assert err == "no jobs but deleted ones: `jobman list --all` shows them\n"
        assert "000001" in cli("list", "--all").out

    def test_where_there_is_no_home_it_says_so(self, cli: "Cli", app: "FakeApp") -> None:
        app.found = False
        code, out, err = cli("list")
        assert (code, out) == (0, "")
        assert err.startswith("no jobman home in /home/alice/exp: `jobman create job.yaml` makes")

    def fill(self, app: "FakeApp") -> None:
        app.add_job("000001")
        app.add_job(
            "000002",
            name="a_worker_of_mine_with_a_long_name",
            user="bob",
            ip=None,
            zone="europe-west4-b",
            status=JobStatus.QUEUEING,
            reason="waits for capacity: none in europe-west4-b",
            running=None,
            cores=0,
            began=None,
            since=NOW - timedelta(seconds=200),
            ran=0.0,
            recoveries=0,
            progress=(12, 40),
            next_try=NOW + timedelta(seconds=40),
        )

    def test_on_a_terminal_of_80_columns(self, cli: "Cli", app: "FakeApp") -> None:
        self.fill(app)
        assert cli("list", tty=True).out.splitlines() == [
            "ID      USER   NAME              TYPE  ZONE            STATUS        FOR   DONE",
            "000001  alice  hello_000001      v4-8  us-central2-b   RUNNING   10m 00s      -",
            "        its command",
            "000002  bob    a_worker_of_min…  v4-8  europe-west4-b  QUEUEING   3m 20s  12/40",
            "        waits for capacity: none in europe-west4-b, next try in 40 s",
            "",
            "cores held: us-central2-b 8",
        ]

    def test_in_a_pipe_is_a_line_a_job(self, cli: "Cli", app: "FakeApp") -> None:
        self.fill(app)
        lines = cli("list").out.splitlines()
        assert len(lines) == 5
        assert lines[2].split()[:2] == ["000002", "bob"]
        assert lines[2].endswith("  waits for capacity: none in europe-west4-b, next try in 40 s")

    def test_on_a_wide_terminal_there_is_all_of_it(self, cli: "Cli", app: "FakeApp") -> None:
        self.fill(app)
        head, one, two, *_ = cli("list", tty=True, columns=200).out.splitlines()
        assert head.split()[5:] == ["IP", "STATUS", "FOR", "TOTAL", "RAN", "LOST", "DONE", "WHAT"]
        assert one.endswith("  RUNNING   10m 00s  2h 00m  1h 09m     1      -  its command")
        assert two.endswith(
            "-     -  12/40  waits for capacity: none in europe-west4-b, next try in 40 s"
        )

    def test_where_all_jobs_are_ones_own_their_owner_is_left_out_first(
        self, cli: "Cli", app: "FakeApp"
    ) -> None:
        app.add_job("000001")
        assert cli("list", tty=True).out.splitlines()[:2] == [
            "ID      NAME          TYPE  ZONE           STATUS       FOR     RAN  LOST",
            "000001  hello_000001  v4-8  us-central2-b  RUNNING  10m 00s  1h 09m     1",
        ]

    def test_names_cannot_steer_the_terminal(self, cli: "Cli", app: "FakeApp") -> None:
        app.add_job("000001", name="\x1b[31mred", reason="\x07", zone="a\nb")
        for tty in (True, False):
            out = cli("list", tty=tty).out
            assert "\x1b" not in out
            assert "\x07" not in out
            assert "a\\nb" in out

    def test_as_json(self, cli: "Cli", app: "FakeApp") -> None:
        self.fill(app)
        jobs = json.loads(cli("list", "--json").out)
        assert jobs[0] == {
            "id": "000001",
            "user": "alice",
            "name": "hello_000001",
            "accelerator": "v4-8",
            "zone": "us-central2-b",
            "ip": "10.0.0.7",
            "status": "RUNNING",
            "reason": "its command",
            "running": "command",
            "submitted": "2025-03-09T12:00:00Z",
            "recoveries": 1,
            "since": "2025-03-09T13:50:00Z",
            "began": "2025-03-09T13:51:00Z",
            "ended": None,
            "ran": 3600.0,
            "progress": None,
            "next_try": None,
        }
        assert (jobs[1]["ip"], jobs[1]["running"]) == (None, None)
        assert jobs[1]["progress"] == {"done": 12, "tasks": 40}
        assert jobs[1]["next_try"] == "2025-03-09T14:00:40Z"

    def test_without_jobs_says_how_to_make_one(self, cli: "Cli") -> None:
        code, out, err = cli("list")
        assert (code, out) == (0, "")
        assert "`jobman create job.yaml`" in err

    def test_hands_its_options_on(self, cli: "Cli", app: "FakeApp") -> None:
        cli("list", "--mine", "--all", "--refresh")
        assert calls(app, "list") == [(True, True, True)]


class TestShow:
    def test_on_a_terminal(self, cli: "Cli", app: "FakeApp") -> None:
        app.add_job("000001")
        assert cli("show", "1", tty=True).out.splitlines() == [
            "000001  hello_000001  RUNNING",
            "  its command",
            "",
            "Times",
            "  submitted     12:00:00, 2h 00m ago",
            "  RUNNING       for 10m 00s",
            "  total         2h 00m",
            "  programs ran  1h 09m, what runs now 9m 00s",
            "  slices lost   1",
            "",
            "Settings",
            "  owner       alice",
            "  wanted      running",
            "  controller  alive",
            "  session     tmux",
            "  folder      /home/alice/exp/jobs/alice/000001",
            "",
            "Slice",
            "  name    hello-000001-g2",
            "  state   READY for 1h 30m, and costs while it stands",
            "  place   v4-8 in us-central2-b, spot",
            "  detail  maintenance is pending",
            "",
            "Hosts",
            "  0  10.0.0.7  answers",
            "  1  -",
            "",
            "Attempts",
            "  RUN  WHAT        STARTED    LASTED  OUTCOME      CAUSE",
            "    1  command     12:00:00   1h 00m  interrupted  preempted",
            "    2  task sweep  13:10:00  10m 00s  failed       exit 3 on host 2",
            "    3  command     13:51:00   9m 00s  running",
            "",
            "Timeline",
            "  2025-03-08 14:00            job.created      created by alice",
            "          13:59:00  +23h 59m  slice.preempted  its slice was preempted",
        ]

    def test_a_job_that_prepares_or_waits_says_for_how_long(
        self, cli: "Cli", app: "FakeApp"
    ) -> None:
        app.add_job(
            "000001",
            status=JobStatus.PREPARING,
            reason="conda on host 0",
            running=None,
            began=None,
            next_try=NOW + timedelta(seconds=5),
            progress=(12, 40),
        )
        lines = cli("show", "1").out.splitlines()
        assert lines[1] == "  conda on host 0, next try in 5 s"
        assert "  programs ran  1h 00m" in lines
        assert "  prepared      for 1h 30m until now" in lines
        assert "  its queue     12 of 40 tasks done" in lines

    def test_a_job_that_has_ended_took_so_long_in_all(self, cli: "Cli", app: "FakeApp") -> None:
        ended = NOW - timedelta(minutes=30)
        app.add_job("000001", status=JobStatus.DONE, ended=ended, since=ended, began=None)
        lines = cli("show", "1").out.splitlines()
        assert "  ended         13:30:00" in lines
        assert "  total         1h 30m" in lines

    def test_as_json(self, cli: "Cli", app: "FakeApp") -> None:
        app.add_job("000001")
        shown = json.loads(cli("show", "1", "--json").out)
        assert shown["hosts"] == [
            {"index": 0, "ip": "10.0.0.7", "reachable": True},
            {"index": 1, "ip": None, "reachable": None},
        ]
        assert shown["attempts"] == [
            {
                "number": 1,
                "task": None,
                "started": "2025-03-09T12:00:00Z",
                "ended": "2025-03-09T13:00:00Z",
                "outcome": "interrupted",
                "cause": "preempted",
                "exit_code": None,
            },
            {
                "number": 2,
                "task": "sweep",
                "started": "2025-03-09T13:10:00Z",
                "ended": "2025-03-09T13:20:00Z",
                "outcome": "failed",
                "cause": "exited",
                "exit_code": 3,
            },
            {
                "number": 3,
                "task": None,
                "started": "2025-03-09T13:51:00Z",
                "ended": None,
                "outcome": None,
                "cause": None,
                "exit_code": None,
            },
        ]
        assert shown["events"][1] == {
            "id": 9,
            "at": "2025-03-09T13:59:00Z",
            "kind": "slice.preempted",
            "text": "its slice was preempted",
        }
        assert (shown["slice"]["state"], shown["slice"]["costs"]) == ("READY", True)
        assert shown["slice"]["detail"] == "maintenance is pending"


class TestRun:
    @pytest.mark.parametrize(
        ("status", "code"),
        [
            (JobStatus.DONE, 0),
            (JobStatus.FAILED, 1),
            (JobStatus.PREEMPTED, 1),
            (JobStatus.PREFIX_FAIL, 1),
            (JobStatus.IDLE, 1),
        ],
    )
    def test_ends_as_the_job_did(
        self, cli: "Cli", app: "FakeApp", status: JobStatus, code: int
    ) -> None:
        app.ends_as = status
        assert cli("run", "000001") == (code, f"asking for v4-8\n000001  {status}\n", "")

    def test_as_json_tells_its_progress_on_standard_error(self, cli: "Cli") -> None:
        code, out, err = cli("run", "000001", "--json")
        assert (code, err) == (0, "asking for v4-8\n")
        assert json.loads(out)["status"] == "DONE"

    def test_ctrl_c_says_how_to_get_back(self, cli: "Cli", app: "FakeApp") -> None:
        app.errors["run", "1"] = KeyboardInterrupt()
        code, out, err = cli("run", "1")
        assert (code, out) == (130, "")
        assert "`jobman resume 1`" in err

    def test_hands_its_options_on(self, cli: "Cli", app: "FakeApp") -> None:
        cli("run", "1", "--cmd-only")
        cli("run", "1", "--force-prefix")
        assert calls(app, "run") == [("1", True, False, False), ("1", False, False, True)]

    def test_does_not_prepare_anew_what_it_is_to_take_as_it_is(self, cli: "Cli") -> None:
        code, _, err = cli("run", "1", "--cmd-only", "--force")
        assert (code, err.count("give one of them")) == (2, 1)


ENDS = {
    "stop": "IDLE",
    "cancel": "CANCELLED",
    "requeue": "RUNNING",
    "reboot": "RUNNING",
    "resume": "RUNNING",
}


class TestForce:
    @pytest.mark.parametrize("name", ["resume", "reboot"])
    def test_is_passed_on(self, cli: "Cli", app: "FakeApp", name: str) -> None:
        app.add_job("000001")
        cli(name, "1", "--force", "--force-prefix")
        cli(name, "1", "--force-prefix")
        assert [given[1:3] for given in calls(app, name)] == [(True, True), (False, True)]


class TestSeveral:
    @pytest.mark.parametrize(("name", "status"), ENDS.items())
    def test_each_job_has_a_line(self, cli: "Cli", app: "FakeApp", name: str, status: str) -> None:
        app.add_job("000001")
        app.add_job("000002")
        assert cli(name, "1", "2", "000001") == (
            0,
            f"000001  {status}  {name} went well\n000002  {status}  {name} went well\n",
            "",
        )

    def test_all_is_done_that_can_be_and_the_first_failure_counts(
        self, cli: "Cli", app: "FakeApp", failure: JobmanError
    ) -> None:
        for job in ("000001", "000002", "000003"):
            app.add_job(job)
        app.errors["stop", "000002"] = failure
        code, out, err = cli("stop", "1", "77", "2", "3")
        assert code == 3
        assert out == "000001  IDLE  stop went well\n000003  IDLE  stop went well\n"
        assert sorted(err.splitlines()) == [
            "error: 000002: the cloud refused: ask for less",
            "error: there is no job 77: `jobman list` shows all",
        ]

    def test_on_a_terminal_a_long_result_is_broken_between_words(
        self, cli: "Cli", app: "FakeApp"
    ) -> None:
        app.add_job("000001")

        async def stop(job: str) -> Done:
            return Done(job, JobStatus.IDLE, "its slice is kept and costs until it is given back")

        app.stop = stop  # type: ignore[method-assign]
        assert cli("stop", "1", tty=True, columns=44).out == (
            "000001  IDLE  its slice is kept and costs\n              until it is given back\n"
        )
        assert cli("stop", "1").out.count("\n") == 1

    def test_cancel_takes_a_yes_that_it_does_not_need(self, cli: "Cli", app: "FakeApp") -> None:
        app.add_job("000001")
        assert cli("cancel", "1", "--yes").code == 0

    def test_as_json(self, cli: "Cli", app: "FakeApp", failure: JobmanError) -> None:
        app.add_job("000001")
        app.add_job("000002")
        app.errors["stop", "000002"] = failure
        code, out, err = cli("stop", "1", "2", "--json")
        assert code == 1
        assert json.loads(out) == [
            {"id": "000001", "status": "IDLE", "error": None},
            {"id": "000002", "status": None, "error": "the cloud refused: ask for less"},
        ]
        assert err == "error: 000002: the cloud refused: ask for less\n"

    def test_one_job_that_is_not_there_leaves_standard_output_empty(self, cli: "Cli") -> None:
        code, out, _ = cli("stop", "9", "--json")
        assert (code, out) == (3, "")

    def test_an_error_that_comes_with_a_status_is_told_as_well(
        self, cli: "Cli", app: "FakeApp", failure: JobmanError
    ) -> None:
        app.add_job("000001")

        async def stop(job: str) -> Done:
            return Done(job, JobStatus.QUEUEING, error=failure)

        app.stop = stop  # type: ignore[method-assign]
        code, out, err = cli("stop", "1", "--json")
        assert code == 1
        assert json.loads(out)[0]["status"] == "QUEUEING"
        assert err == "error: 000001: the cloud refused: ask for less\n"

    def test_a_bug_in_one_does_not_keep_the_others(self, cli: "Cli", app: "FakeApp") -> None:
        app.add_job("000001")
        app.add_job("000002")
        app.errors["stop", "000001"] = ZeroDivisionError()
        code, out, err = cli("stop", "1", "2")
        assert (code, out) == (1, "000002  IDLE  stop went well\n")
        assert err.startswith("error: 000001: internal: ZeroDivisionError")

    def test_resume_all_is_for_those_without_a_controller(self, cli: "Cli", app: "FakeApp") -> None:
        app.add_job("000001")
        app.add_job("000002", controller=Liveness.DEAD)
        assert cli("resume", "--all").out == "000002  RUNNING  bring_back went well\n"

    def test_resume_all_with_none_is_fine(self, cli: "Cli") -> None:
        code, out, err = cli("resume", "--all", "--json")
        assert (code, out) == (0, "[]\n")
        assert err == "no job that should be running lacks its controller\n"


@pytest.mark.parametrize("name", ["delete", "clean"])
class TestDestructive:
    def test_elsewhere_than_on_a_terminal_a_yes_is_needed(
        self, cli: "Cli", app: "FakeApp", name: str
    ) -> None:
        app.add_job("000001")
        code, out, err = cli(name, "1")
        assert (code, out) == (2, "")
        assert err.endswith(": add --yes\n")
        assert not calls(app, name)

    @pytest.mark.parametrize("flag", ["--yes", "-y"])
    def test_yes_is_enough(self, cli: "Cli", app: "FakeApp", name: str, flag: str) -> None:
        app.add_job("000001")
        assert cli(name, "1", flag) == (0, f"000001  DELETED  {name} went well\n", "")

    def test_on_a_terminal_it_asks(self, cli: "Cli", app: "FakeApp", name: str) -> None:
        app.add_job("000001")
        code, out, err = cli(name, "1", tty=True, answer="y\n")
        assert (code, out) == (0, f"000001  DELETED  {name} went well\n")
        assert "000001 (hello_000001, v4-8, RUNNING)? [y/N] " in err

    @pytest.mark.parametrize("answer", ["n\n", "\n", ""])
    def test_anything_else_than_yes_does_nothing(
        self, cli: "Cli", app: "FakeApp", name: str, answer: str
    ) -> None:
        app.add_job("000001")
        code, out, err = cli(name, "1", tty=True, answer=answer)
        assert (code, out) == (1, "")
        assert err.endswith("nothing was done\n")
        assert not calls(app, name)


@pytest.mark.parametrize("command", ["reboot", "resume"])
def test_what_a_job_loses_by_its_edited_file_is_asked_about(
    cli: "Cli", app: "FakeApp", command: str
) -> None:
    app.add_job("000001")
    app.lost = ("gives its slice back, as it has v4-8",)
    question = "job 000001 gives its slice back, as it has v4-8: go on? [y/N]"
    refused = cli(command, "1", tty=True, answer="n\n")
    assert (refused.code, question in refused.err) == (1, True)
    assert not [call for call in app.calls if call[0] == command]
    # Nobody is there to be asked.
    refused = cli(command, "1")
    assert (refused.code, "add --yes" in refused.err) == (2, True)
    assert cli(command, "1", "--yes").code == 0
    assert cli(command, "1", tty=True, answer="y\n").code == 0


@pytest.mark.parametrize("command", ["reboot", "resume"])
def test_reload_is_passed_on_and_asked_about(cli: "Cli", app: "FakeApp", command: str) -> None:
    app.add_job("000001")
    assert cli(command, "1", "--reload", tty=True).code == 0
    # Of a job: force, force_prefix, reload.
    assert calls(app, "losses") == [("000001", True)]
    assert calls(app, command) == [("000001", False, False, True)]


@pytest.mark.parametrize("option", ["--reload", "--force", "--force-prefix"])
def test_what_is_to_be_done_anew_is_not_for_all_jobs_at_once(
    cli: "Cli", app: "FakeApp", option: str
) -> None:
    said = cli("resume", "--all", option)
    assert (said.code, f"{option} is for jobs that are named" in said.err) == (2, True)
    assert app.calls == []


def test_what_is_to_be_known_of_a_rebooted_job_is_told_beside_the_result(
    cli: "Cli", app: "FakeApp"
) -> None:
    app.add_job("000001")
    app.notes = ("command is passed over",)
    said = cli("reboot", "1")
    assert said.err == "note: job 000001: command is passed over\n"
    assert "command is passed over" not in said.out


def test_attach_elsewhere_than_on_a_terminal_is_refused(cli: "Cli") -> None:
    hint = "use one, or `jobman attach --json 1` for the command"
    assert cli("attach", "1") == (2, "", f"error: this is no terminal: {hint}\n")


def test_attach_as_json_gives_the_command(cli: "Cli") -> None:
    argv = ["tmux", "-L", "jobman-1234", "attach", "-t", "=1"]
    assert json.loads(cli("attach", "1", "--json").out) == {"argv": argv}


def test_ssh_as_json_gives_what_would_be_run(cli: "Cli", app: "FakeApp") -> None:
    done = cli("ssh", "1", "--worker", "3", "--json", "--", "ls", "-l", "--json")
    assert json.loads(done.out) == {"argv": ["ssh", "--", "host-3", "ls", "-l", "--json"]}
    assert calls(app, "ssh") == [("1", ["ls", "-l", "--json"], 3)]
    assert not app.became


def test_ssh_becomes_what_enters_the_host(cli: "Cli", app: "FakeApp") -> None:
    assert cli("ssh", "1", env={"SSH_AUTH_SOCK": "/agent"}) == (0, "", "")
    ((argv, env),) = app.became
    assert argv == ["ssh", "--", "host-0"]
    assert env["SSH_AUTH_SOCK"] == "/agent"


def test_attach_becomes_the_session_also_within_another(cli: "Cli", app: "FakeApp") -> None:
    cli("attach", "1", tty=True, env={"TMUX": "/socket"})
    ((argv, env),) = app.became
    assert argv == ["tmux", "-L", "jobman-1234", "attach", "-t", "=1"]
    assert "TMUX" not in env
