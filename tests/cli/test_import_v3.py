"""``import-v3``: what is shown of what was taken over."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from jobman_core.models.v3 import OldSlice, TakenJob, TakenOver

if TYPE_CHECKING:
    from tests.cli.conftest import Cli, FakeApp

SLICE = OldSlice("qw_1", "us-central1-b", "gcloud compute tpus tpu-vm delete qw_1")
JOBS = (
    TakenJob("000045", "000045", "alice", "qw_1", SLICE),
    TakenJob("000047", "000061", "b\x1b[31m", "qw_2", SLICE),
)
ALL = TakenOver(JOBS, (Path("/lab/tasks.yaml"),), 12, 3_400_000, 2, ("a note",), ())


def test_jobs_queues_and_the_tpus_that_may_cost_are_shown(cli: "Cli", app: "FakeApp") -> None:
    app.of_v3 = ALL
    code, out, err = cli("import-v3", "/old")
    assert code == 0
    assert app.calls == [("import_v3", Path("/old"), False)]
    assert app.opened == [(None, True)]
    assert out.splitlines() == [
        "V3      ID      USER       NAME",
        "000045  000045  alice      qw_1",
        "000047  000061  b\\x1b[31m  qw_2",
        "",
        "queue /lab/tasks.yaml",
        "2 jobs, 1 queue, 12 logs (3.4 MB); 2 taken over before",
        "",
        "TPUs that v3 made may still be there, and cost. What is of no use any more:",
        "  gcloud compute tpus tpu-vm delete qw_1",
    ]
    assert err.splitlines() == [
        "note: a note",
        "`jobman list` shows the jobs, and `jobman resume ID` starts one here",
    ]


def test_what_could_not_be_taken_over_is_a_line_each_and_1(cli: "Cli", app: "FakeApp") -> None:
    app.of_v3 = TakenOver((), (), 0, 0, 0, (), ("/old/eve is a link", "more\nlines"))
    code, out, err = cli("import-v3", "/old")
    assert (code, out) == (1, "0 jobs, 0 queues, 0 logs (0.0 MB)\n")
    assert err == "warning: /old/eve is a link\nwarning: more\\nlines\n"


def test_a_dry_run_makes_no_home(cli: "Cli", app: "FakeApp") -> None:
    code, _, err = cli("import-v3", "/old", "--dry-run")
    assert code == 0
    assert app.opened == [(None, False)]
    assert err == "nothing was written: this was a dry run\n"


def test_as_json(cli: "Cli", app: "FakeApp") -> None:
    app.of_v3 = ALL
    found = json.loads(cli("import-v3", "/old", "--json").out)
    assert found["jobs"][1]["id"] == "000061"
    assert found["jobs"][0]["slice"]["delete"] == SLICE.remedy
    assert (found["queues"], found["known"], found["problems"]) == (["/lab/tasks.yaml"], 2, [])
