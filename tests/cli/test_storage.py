"""``storage``: what buckets hold, as a person and a script read it."""

import csv
import json
from datetime import timedelta

import attrs
import pytest
from tests.cli.conftest import NOW, Cli, FakeApp

from jobman_cli import output
from jobman_core.models.storage import Amount, BucketSize, ObjectState

DATA = BucketSize(
    "gcsfuse",
    "data",
    "US-CENTRAL2",
    [
        Amount(None, "NEARLINE", objects=1, bytes=2**40),
        Amount(None, "STANDARD", objects=1200, bytes=2**40),
    ],
    as_of=NOW - timedelta(hours=19),
)
COUNTED = attrs.evolve(
    DATA,
    amounts=[
        Amount("logs/", "STANDARD", objects=2, bytes=10),
        Amount("", "STANDARD", objects=1, bytes=1),
        Amount("runs/", "STANDARD", objects=5, bytes=3 * 2**30),
        Amount("runs/", "NEARLINE", ObjectState.SOFT_DELETED, objects=1, bytes=2**20),
    ],
    as_of=NOW,
    exact=True,
)


def rows(out: str) -> list[list[str]]:
    return [line.split() for line in out.splitlines()]


def test_buckets_stand_with_objects_size_classes_place_and_how_old_that_is(
    cli: Cli, app: FakeApp
) -> None:
    app.buckets = [DATA]
    code, out, err = cli("storage")
    assert code == 0
    head, row = rows(out)
    assert head == ["BUCKET", "OBJECTS", "SIZE", "CLASSES", "PLACE"]
    assert row == ["data", "1,201", "2", "TiB", "NEARLINE,", "STANDARD", "US-CENTRAL2"]
    assert "measures buckets once a day and told this 19h 00m ago" in err
    assert app.calls == [("storage", (), False)]


def test_counted_are_folders_too_the_largest_first_with_what_is_deleted(
    cli: Cli, app: FakeApp
) -> None:
    app.buckets = [COUNTED, attrs.evolve(COUNTED, bucket="other")]
    code, out, err = cli("storage", "data", "other", "--exact")
    assert code == 0
    found = rows(out)
    assert found[0] == ["BUCKET", "OBJECTS", "SIZE", "DELETED", "CLASSES", "PLACE"]
    assert [row[0] for row in found[1:5]] == ["data", "runs/", "logs/", "(in"]
    assert found[2][1:6] == ["5", "3", "GiB", "1", "MiB"]
    assert found[-1][:4] == ["total", "16", "6", "GiB"]
    assert "once a day" not in err
    assert app.calls == [("storage", ("data", "other"), True)]


def test_what_could_not_be_known_is_told_beside_the_others_and_ends_with_1(
    cli: Cli, app: FakeApp
) -> None:
    trouble = "Cloud Monitoring refuses\x1b: have a role granted"
    closed = [BucketSize("gcsfuse", name, trouble=trouble) for name in ("closed", "shut")]
    app.buckets = [DATA, *closed, BucketSize("gcsfuse", "new")]
    code, out, err = cli("storage")
    assert code == 1
    assert len(rows(out)) == 2
    assert "warning: closed, shut: Cloud Monitoring refuses\\x1b: have a role granted" in err
    assert "nothing is known yet of new: empty, or less than a day old" in err


def test_who_breaks_off_a_count_sees_what_is_known_and_ends_with_130(
    cli: Cli, app: FakeApp
) -> None:
    app.buckets = [COUNTED]
    app.errors["storage", ("data",)] = KeyboardInterrupt()
    code, out, err = cli("storage", "data", "--exact")
    assert code == 130
    assert rows(out)[1][:5] == ["data", "(so", "far)", "8", "3"]
    assert "counted until you broke it off" in err


def test_scripts_get_each_amount_and_null_for_what_nobody_knows(cli: Cli, app: FakeApp) -> None:
    app.buckets = [COUNTED, BucketSize("gcsfuse", "closed", trouble="no")]
    code, out, _ = cli("storage", "--json")
    counted, closed = json.loads(out)
    assert code == 1
    assert counted["objects"] == 8
    assert counted["amounts"][-1] == {
        "folder": "runs/",
        "class": "NEARLINE",
        "state": "soft-deleted",
        "objects": 1,
        "bytes": 2**20,
    }
    assert (counted["as_of"], counted["exact"], counted["partial"]) == (
        *("2025-03-09T14:00:00Z", True, False),
    )
    assert (closed["objects"], closed["as_of"], closed["error"]) == (None, None, "no")


def test_spreadsheets_get_a_line_for_each_amount(cli: Cli, app: FakeApp) -> None:
    formula = Amount("=1+1/", "STANDARD", objects=1, bytes=5)
    app.buckets = [attrs.evolve(DATA, amounts=[*DATA.amounts, formula])]
    *_, last = csv.DictReader(cli("storage", "--csv").out.splitlines())
    assert last == {
        "bucket": "data",
        "folder": "'=1+1/",
        "class": "STANDARD",
        "state": "live",
        "objects": "1",
        "bytes": "5",
    }
    assert cli("storage", "--csv", "--json").code == 2


def test_a_count_is_seen_to_go_on_on_a_terminal_and_nowhere_else(cli: Cli, app: FakeApp) -> None:
    app.buckets = [attrs.evolve(COUNTED, bucket="data\x1b[2J")]
    err = cli("storage", "--exact", tty=True).err
    assert "9 objects" in err
    assert "\x1b[2J" not in err
    assert cli("storage", "--exact").err == ""


def test_no_buckets_are_said_so(cli: Cli, app: FakeApp) -> None:
    assert cli("storage") == (0, "there are no buckets\n", "")


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0 B"), (999, "999 B"), (1000, "0.977 KiB"), (1536, "1.5 KiB"), (2**60, "1,024 PiB")],
)
def test_bytes_are_told_in_three_digits(size: int, shown: str) -> None:
    assert output.size(size) == shown
