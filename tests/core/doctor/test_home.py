"""What ``doctor`` says of a home's folder and database, and that it changes neither."""

import asyncio
import os
import signal
import sqlite3
import sys
import time
from pathlib import Path

import pytest

from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.builtin.sqlite.health import checkups
from jobman_core.doctor.home import holders, home, judge_permissions, judge_times
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context, Scope
from jobman_core.models.checkup import Checkup, Health
from jobman_core.process import ProcessIdentity
from jobman_core.testing.fakes import FakeClock
from jobman_core.testing.session_contract import eventually


@pytest.fixture
async def made(tmp_path: Path) -> Home:
    """Give a home that was used, and is closed."""
    found = Home(tmp_path / "home")
    found.state.mkdir(parents=True)
    store = SqliteStore(Context(found.root, "", FakeClock()))
    await store.open()
    await store.aclose()
    return found


async def of_home(found: Home, ahead: float = 0.0) -> dict[str, Checkup]:
    return {each.name: each for each in await home(found, time.time() - ahead)}


def of_database(found: Home, *, network: bool = False) -> dict[str, Checkup]:
    return {each.name: each for each in checkups(found.database, lambda _: network, lambda: 0.0)}


def content(folder: Path) -> dict[Path, bytes | None]:
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


async def test_where_there_is_no_home_none_is_made(tmp_path: Path) -> None:
    found = await of_home(Home(tmp_path))
    assert found["home"].health is Health.WELL
    assert "yet" in found["home"].text
    assert content(tmp_path) == {}
    assert (await of_home(Home(tmp_path / "gone")))["home"].health is Health.BROKEN


async def test_a_home_that_is_well_is_told_so_and_left_as_it_was(made: Home) -> None:
    before = content(made.root)
    found = {**await of_home(made), **of_database(made)}
    assert {each.health for each in found.values()} == {Health.WELL}
    assert content(made.root) == before


async def test_secrets_that_anybody_may_read_are_broken(made: Home) -> None:
    config = made.config("ada", "000001")
    config.parent.mkdir(parents=True)
    config.write_text("environment: {TOKEN: secret}\n")
    config.chmod(0o644)
    # Only if people get as far as that; where tests run they most likely do not.
    found = judge_permissions([config])
    assert (found.health, found.remedy) == (Health.BROKEN, f"run `chmod -R o-rwx {config}`")
    made.root.chmod(0o700)
    assert (await of_home(made))["permissions"].health is Health.WELL


async def test_files_from_the_future_are_a_doubt_about_clocks(made: Home) -> None:
    found = await of_home(made, ahead=60.0)
    assert found["file times"].health is Health.DOUBT
    assert judge_times(0.5) is None


async def test_a_bot_has_a_check_of_its_own(made: Home) -> None:
    (made.root / "bot.yaml").write_text("channels: []\n")
    assert "jobman-slackbot check" in (await of_home(made))["slack bot"].remedy


def test_who_holds_a_lock_is_read_as_the_system_writes_it() -> None:
    table = (
        "1: FLOCK  ADVISORY  WRITE 5816 fe:00:2737508 0 EOF\n"
        "1: -> FLOCK  ADVISORY  WRITE 77 fe:00:2737508 0 EOF\n"
        "2: OFDLCK ADVISORY  WRITE -1 00:2a:12 0 EOF\n"
    )
    assert [*holders(table)] == [(5816, (0xFE, 0, 2737508))]


@pytest.mark.e2e
async def test_a_halted_process_that_keeps_a_lock_is_named(made: Home) -> None:
    script = "import fcntl, sys, time; f = open(sys.argv[1], 'ab'); fcntl.flock(f, 2); print(1)"
    argv = [sys.executable, "-uc", f"{script}; time.sleep(60)", str(made.lock("reap"))]
    process = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout
        await process.stdout.readline()
        assert (await of_home(made))["locks"].health is Health.WELL
        os.kill(process.pid, signal.SIGSTOP)
        halted = ProcessIdentity.of(process.pid)
        await eventually(lambda: halted.state() == "stopped", "the process is halted")
        found = (await of_home(made))["locks"]
        assert (found.health, str(process.pid) in found.remedy) == (Health.BROKEN, True)
    finally:
        process.kill()
        await process.wait()


# -- the database --------------------------------------------------------------------------


def test_a_database_that_is_gone_or_damaged_is_broken(made: Home) -> None:
    sound = made.database.read_bytes()
    made.database.write_bytes(sound[:100] + b"\xff" * 8192 + sound[8292:])
    found = of_database(made)["database"]
    assert (found.health, "put a copy of it back" in found.remedy) == (Health.BROKEN, True)
    made.database.write_text("something else")
    assert "damaged" in of_database(made)["database"].text
    made.database.unlink()
    assert "is gone" in of_database(made)["database"].text


def test_a_newer_schema_is_broken_and_an_older_one_is_no_matter(made: Home) -> None:
    with sqlite3.connect(made.database) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert of_database(made)["database"].remedy == "upgrade jobman"
    with sqlite3.connect(made.database) as connection:
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    found = of_database(made)["database"]
    assert (found.health, "schema 1" in found.text) == (Health.WELL, True)


def test_on_a_network_file_system_it_is_told_what_that_costs(made: Home) -> None:
    assert of_database(made, network=True)["file system"].health is Health.DOUBT
    assert "file system" not in of_database(made)


async def test_a_database_that_is_open_elsewhere_is_looked_at_with_its_log(made: Home) -> None:
    store = SqliteStore(Context(made.root, "", FakeClock()))
    await store.open()
    try:
        (found,) = await store.checkups(Scope())
        assert found.health is Health.WELL
    finally:
        await store.aclose()


def test_a_database_too_large_to_be_looked_at_in_time_is_unknown(made: Home) -> None:
    with sqlite3.connect(made.database) as connection:
        connection.execute("CREATE TABLE large (x)")
        rows = ((number,) for number in range(50_000))
        connection.executemany("INSERT INTO large VALUES (?)", rows)
    connection.close()
    (found,) = checkups(made.database, lambda _: False, iter(range(0, 10**6, 100)).__next__)
    assert (found.name, found.health) == ("database", Health.UNKNOWN)
