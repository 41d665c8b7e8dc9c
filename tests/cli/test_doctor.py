"""``doctor``: how everything stands, as a person and a script read it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from jobman_core.models.checkup import Checkup, Examined

if TYPE_CHECKING:
    from tests.cli.conftest import Cli, FakeApp

WELL = Examined("This machine", (Checkup.well("git", "2.39"),))
ILL = Examined(
    "Cloud gcp",
    (
        Checkup.broken("credentials", "they \x1b[31mexpired", "run `gcloud auth login`"),
        Checkup.doubt("clock", "it is 40 s ahead"),
        Checkup.unknown("quota", "no answer within 30 s"),
    ),
)


@pytest.fixture
def everything(app: "FakeApp") -> None:
    app.examined = [WELL, ILL]


def test_where_nothing_is_broken_it_ends_well(cli: "Cli", app: "FakeApp") -> None:
    app.examined = [WELL]
    assert cli("doctor") == (
        0,
        "This machine\n  ok       git  2.39\n",
        "nothing is broken: 1 ok\n",
    )
    assert app.calls == [("doctor", (), False)]


@pytest.mark.usefixtures("everything")
def test_what_is_broken_is_told_with_its_remedy_and_named_once_more(cli: "Cli") -> None:
    code, out, err = cli("doctor")
    assert code == 1
    assert out.splitlines() == [
        "This machine",
        "  ok       git          2.39",
        "Cloud gcp",
        r"  BROKEN   credentials  they \x1b[31mexpired",
        "                      → run `gcloud auth login`",
        "  check    clock        it is 40 s ahead",
        "  unknown  quota        no answer within 30 s",
    ]
    assert err == "1 broken: credentials; 1 to check, 1 unknown, 1 ok\n"


@pytest.mark.usefixtures("everything")
def test_who_wants_no_words_sees_only_what_is_not_well(cli: "Cli") -> None:
    _, out, err = cli("-q", "doctor")
    assert (out.splitlines()[0], err) == ("Cloud gcp", "")


@pytest.mark.usefixtures("everything")
def test_a_script_gets_all_of_it(cli: "Cli") -> None:
    code, out, err = cli("doctor", "--json")
    found = json.loads(out)
    assert (code, err) == (1, "")
    assert found[0] == {
        "group": "This machine",
        "name": "git",
        "health": "well",
        "text": "2.39",
        "remedy": None,
    }
    assert [each["health"] for each in found[1:]] == ["broken", "doubt", "unknown"]


def test_doubts_and_what_nobody_knows_are_no_failure(cli: "Cli", app: "FakeApp") -> None:
    app.examined = [Examined("Cloud gcp", ILL.checkups[1:])]
    assert cli("doctor", "--offline").code == 0
    assert app.calls == [("doctor", (), True)]


def test_job_files_are_passed_on(cli: "Cli", app: "FakeApp") -> None:
    assert cli("doctor", "a.yaml", "b.yaml").code == 0
    assert app.calls == [("doctor", (Path("a.yaml"), Path("b.yaml")), False)]


@pytest.mark.usefixtures("everything")
def test_on_a_terminal_the_words_have_colours_and_lines_are_broken(cli: "Cli") -> None:
    out = cli.colours("doctor").out
    assert "\x1b[31mBROKEN\x1b[0m" in out
    long = "x " * 60
    cli.app.examined = [Examined("This machine", (Checkup.well("git", long),))]
    assert all(len(line) <= 80 for line in cli("doctor", tty=True).out.splitlines())
