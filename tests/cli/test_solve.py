"""``solve``: what is wrong on a job's hosts, as a person and a script read it."""

import json
from typing import TYPE_CHECKING

import pytest

from jobman_core.models.view import Finding

if TYPE_CHECKING:
    from tests.cli.conftest import Cli, FakeApp

DISK = "the disk of /tmp is full: 1 of 64 MiB are left"
WRONG = Finding(0, "disk", DISK, "remove caches", mendable=True)
HOPELESS = Finding(1, "host", "host 1 cannot be reached: no route")
MENDED = Finding(0, "disk", DISK, "remove caches", mendable=True, fixed=True)
REFUSED = Finding(
    1, "chips", "process 7 holds it", "ends it", mendable=True, why="refused, since it runs"
)


@pytest.fixture(autouse=True)
def job(app: "FakeApp") -> None:
    app.add_job("000001")


def test_where_nothing_is_wrong_it_says_how_much_was_asked(cli: "Cli", app: "FakeApp") -> None:
    assert cli("solve", "1") == (0, "nothing is wrong: 2 checks on 2 hosts\n", "")
    assert app.calls == [("solve", "000001", False)]


def test_what_is_wrong_is_told_with_what_would_be_done(cli: "Cli", app: "FakeApp") -> None:
    app.findings = [WRONG, HOPELESS]
    code, out, err = cli("solve", "1")
    assert code == 1
    assert out.splitlines()[1:] == [
        f"0     disk   wrong  {DISK}; remedy: remove caches",
        "1     host   wrong  host 1 cannot be reached: no route; there is no remedy",
    ]
    assert err == "`jobman solve 1 --fix` mends what can be mended\n"


def test_with_fix_what_was_mended_and_what_was_not_is_told(cli: "Cli", app: "FakeApp") -> None:
    app.findings = [MENDED, REFUSED]
    code, out, err = cli("solve", "1", "--fix")
    assert code == 1
    assert out.splitlines()[1:] == [
        f"0     disk   mended  {DISK}; remedy: remove caches",
        "1     chips  wrong   process 7 holds it; not mended: refused, since it runs",
    ]
    assert err == ""
    assert app.calls == [("solve", "000001", True)]


def test_all_that_was_mended_is_well(cli: "Cli", app: "FakeApp") -> None:
    app.findings = [MENDED]
    assert cli("solve", "1", "--fix").code == 0


def test_while_hosts_are_prepared_it_says_to_look_again(cli: "Cli", app: "FakeApp") -> None:
    app.findings, app.preparing = [WRONG], "environment venv on hosts 0, 1"
    assert cli("solve", "1").err == (
        "the job prepares its hosts just now (environment venv on hosts 0, 1): look again after"
        " that\n"
    )


def test_scripts_get_each_finding(cli: "Cli", app: "FakeApp") -> None:
    app.findings = [WRONG, HOPELESS]
    code, out, err = cli("solve", "1", "--json")
    assert (code, err) == (1, "")
    assert json.loads(out) == [
        {
            "host": 0,
            "name": "disk",
            "problem": DISK,
            "remedy": "remove caches",
            "mendable": True,
            "fixed": False,
            "why": None,
        },
        {
            "host": 1,
            "name": "host",
            "problem": "host 1 cannot be reached: no route",
            "remedy": None,
            "mendable": False,
            "fixed": False,
            "why": None,
        },
    ]


def test_scripts_get_an_empty_list_where_nothing_is_wrong(cli: "Cli") -> None:
    assert cli("solve", "1", "--json")[:2] == (0, "[]\n")
