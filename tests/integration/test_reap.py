"""``jobman reap`` on real slices: what the database forgot is given back, with what ran on it."""

import shutil
import subprocess

import pytest
from tests.support.lab import Lab

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]


@pytest.fixture
def rules(lab: Lab) -> Lab:
    """Give a home whose reaper waits for a second only."""
    lab.write("jobman.yaml", "session: process\nreap: {grace: 1s}\n")
    return lab


def test_a_slice_that_a_copy_of_the_database_does_not_know_is_given_back_with_its_program(
    rules: Lab,
) -> None:
    lab = rules
    known = lab.create(lab.job("known", cmd="sleep 600"))
    lab.until_status(known, "RUNNING")
    copy, database = lab.root / "copy.db", lab.root / "jobs/.jobman/jobman.db"
    subprocess.run(["sqlite3", database, f".backup {copy}"], check=True)
    forgotten = lab.create(lab.job("forgotten", cmd="sleep 601"))
    lab.until_status(forgotten, "RUNNING")
    lab.kill_controller(forgotten)
    for side in ("-wal", "-shm"):
        database.with_name(database.name + side).unlink(missing_ok=True)
    shutil.copyfile(copy, copy.with_suffix(".new"))
    copy.with_suffix(".new").replace(database)
    (noted,) = lab.json("reap")["found"]
    assert (noted["fate"], noted["job"], noted["state"]) == ("noted", forgotten, "READY")
    assert noted["why"] == f"its job {forgotten} is not on the books of this home"
    lab.until("it is due", lambda: lab.json("reap", "--dry-run")["found"][0]["fate"] == "due")
    told = f"{noted['name']}  {lab.zone}  ada, job {forgotten}  deleted"
    assert told in lab.run("reap", "--yes").out
    assert lab.slices() == [f"known-{known}-g1"]
    assert not [line for line in lab.processes() if "601" in line.partition(":")[2]]
    assert lab.json("reap", "--yes")["found"] == []
    assert lab.status(known) == "RUNNING"
    lab.run("delete", "--yes", known)
