"""``reap``: what is dead, whose it is and what becomes of it, as people and scripts read it."""

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.conftest import NOW

from jobman_core.models.reap import Dead, Fate

if TYPE_CHECKING:
    from tests.cli.conftest import Cli, FakeApp

#: Calls, as the facade gets them: all, dry run.
LOOK, DELETE = ("reap", False, True), ("reap", False, False)


def dead(name: str, fate: Fate, **more: Any) -> Dead:
    words = {"cloud": "gcp", "project": "lab", "zone": "us-central2-b", "state": "PREEMPTED"}
    since = NOW - timedelta(minutes=5)
    about = {"why": "it is PREEMPTED", "ours": True, "owner": "ann", "job": "000001"}
    return Dead(**{**words, **about, "name": name, "fate": fate, "since": since, **more})


@pytest.fixture(autouse=True)
def zone(app: "FakeApp") -> None:
    app.time_zone = "UTC"


@pytest.fixture
def everything(app: "FakeApp") -> None:
    app.dead = [
        dead("train-1-g1", Fate.DUE),
        dead("train-2-g1", Fate.NOTED, job="000002", due=NOW + timedelta(minutes=10)),
        dead("theirs", Fate.REPORTED, ours=False, owner=None, job=None),
        dead("demo", Fate.KEPT),
        dead("stuck", Fate.REFUSED, trouble="the API says no: ask it"),
    ]


def test_where_nothing_is_dead_it_says_where_it_has_looked(cli: "Cli", app: "FakeApp") -> None:
    assert cli("reap") == (0, "", "nothing is dead in us-central2-b of project lab\n")
    app.looked = ()
    assert cli("reap").err == "no zone to look at: no job of this home has had a slice yet\n"


@pytest.mark.usefixtures("everything")
def test_who_wants_no_words_hears_only_of_what_was_deleted_and_what_was_not(cli: "Cli") -> None:
    _, out, err = cli("-q", "reap", "--yes")
    assert [line.split()[0] for line in out.splitlines()[1:]] == ["train-1-g1", "stuck"]
    assert err == ""


@pytest.mark.usefixtures("everything")
def test_a_dry_run_says_what_would_become_of_each(cli: "Cli", app: "FakeApp") -> None:
    code, out, err = cli("reap", "--dry-run")
    assert code == 1
    assert out.splitlines() == [
        "NAME        ZONE           WHOSE            FATE              WHY",
        "train-1-g1  us-central2-b  ann, job 000001  would be deleted  it is PREEMPTED",
        (
            "train-2-g1  us-central2-b  ann, job 000002  noted             it is PREEMPTED; to be"
            " deleted from 14:10:00 on"
        ),
        "theirs      us-central2-b  -                not ours          it is PREEMPTED",
        "demo        us-central2-b  ann, job 000001  kept              it is PREEMPTED",
        (
            "stuck       us-central2-b  ann, job 000001  not deleted       it is PREEMPTED; the API"
            " says no: ask it"
        ),
    ]
    assert err.splitlines() == [
        "what is noted is deleted by `jobman reap` after that time",
        "`jobman reap --all` deletes what is not of this home too",
    ]
    assert app.calls == [LOOK]


def test_on_a_terminal_it_asks_before_it_deletes(cli: "Cli", app: "FakeApp") -> None:
    app.dead = [dead("train-1-g1", Fate.DUE), dead("train-2-g1", Fate.DUE)]
    code, out, err = cli("reap", tty=True, answer="n\n")
    assert (code, out) == (1, "")
    assert "delete train-1-g1, train-2-g1? [y/N]" in err
    assert app.calls == [LOOK]
    code, out, _ = cli("reap", tty=True, answer="y\n")
    assert code == 0
    assert out.count("deleted") == 2
    assert app.calls == [LOOK, LOOK, DELETE]


def test_where_nobody_can_be_asked_it_needs_a_yes_for_what_is_due(
    cli: "Cli", app: "FakeApp"
) -> None:
    app.dead = [dead("train-1-g1", Fate.NOTED, due=NOW)]
    assert cli("reap").code == 0
    app.dead = [dead("train-1-g1", Fate.DUE)]
    code, out, err = cli("reap")
    assert (code, out) == (2, "")
    assert "add --yes" in err
    assert cli("reap", "--yes").code == 0
    assert app.calls == [LOOK, LOOK, DELETE]


def test_what_others_made_is_deleted_only_by_all(cli: "Cli", app: "FakeApp") -> None:
    assert cli("reap", "--all", "--yes").code == 0
    assert cli("reap", "--all", "--dry-run").code == 0
    assert app.calls == [("reap", True, False), ("reap", True, True)]


def test_a_zone_that_could_not_be_seen_is_a_warning_and_a_failure(
    cli: "Cli", app: "FakeApp"
) -> None:
    app.unseen = [("asia-east1-c of project lab", "no answer")]
    code, out, err = cli("reap", "--yes")
    assert (code, out) == (1, "")
    assert err == (
        "nothing is dead in us-central2-b of project lab\n"
        "warning: zone asia-east1-c of project lab could not be looked at, and nothing was done "
        "there: no answer\n"
    )


def test_what_a_name_holds_steers_no_terminal(cli: "Cli", app: "FakeApp") -> None:
    app.dead = [dead("a\x1b[31mb", Fate.DUE, owner="o\nwner")]
    _, out, err = cli("reap", tty=True, answer="y\n")
    assert "\x1b" not in out + err
    assert "o\nwner" not in out


def test_scripts_get_each_with_its_fate(cli: "Cli", app: "FakeApp") -> None:
    app.dead = [dead("stuck", Fate.REFUSED, trouble="no"), dead("t", Fate.NOTED, due=NOW)]
    app.unseen = [("asia-east1-c", "no answer")]
    code, out, _ = cli("reap", "--yes", "--json")
    assert code == 1
    document = json.loads(out)
    assert document["unseen"] == [{"zone": "asia-east1-c", "reason": "no answer"}]
    assert document["found"][0] == {
        "cloud": "gcp",
        "project": "lab",
        "zone": "us-central2-b",
        "name": "stuck",
        "state": "PREEMPTED",
        "why": "it is PREEMPTED",
        "ours": True,
        "fate": "refused",
        "since": "2025-03-09T13:55:00Z",
        "due": None,
        "owner": "ann",
        "job": "000001",
        "trouble": "no",
    }
    assert (document["found"][1]["fate"], document["found"][1]["due"]) == (
        "noted",
        "2025-03-09T14:00:00Z",
    )
