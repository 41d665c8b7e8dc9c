"""Folders that a group shares, and what is made in them."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.accounts import ADA, BOB, GROUP, Account, shared_folder

from jobman_core.app import App
from jobman_core.errors import NotYoursError
from jobman_core.files import make_folder, put
from jobman_core.group import account, check_mine, follow, is_mine, is_shared, opener, rights

FILE, FOLDER = stat.S_IFREG, stat.S_IFDIR


@pytest.fixture
def folder() -> Iterator[Path]:
    with shared_folder() as folder:
        yield folder


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(
    ("made", "folder", "own", "wanted"),
    [
        (FILE | 0o600, 0o2770, False, 0o660),
        (FILE | 0o644, 0o2770, False, 0o660),
        (FILE | 0o644, 0o2770, True, 0o640),
        (FILE | 0o600, 0o2750, False, 0o640),
        (FILE | 0o666, 0o2775, False, 0o664),
        (FOLDER | 0o2700, 0o2770, False, 0o2770),
        (FOLDER | 0o2755, 0o2770, True, 0o2750),
        (FOLDER | 0o2700, 0o2750, False, 0o2750),
        # What is one person's stays as their umask has it.
        (FILE | 0o644, 0o755, False, 0o644),
        (FILE | 0o644, 0o770, False, 0o644),
        (FILE | 0o600, 0o2755, False, 0o600),
        (FILE | 0o600, 0o2700, False, 0o600),
    ],
)
def test_what_is_made_in_a_folder_of_a_group_is_the_groups_whatever_the_umask_is(
    made: int, folder: int, own: bool, wanted: int
) -> None:
    assert rights(made, folder, own=own) == wanted


def test_a_folder_is_shared_if_its_group_may_write_and_passes_itself_on(tmp_path: Path) -> None:
    for bits, shared in ((0o2770, True), (0o2775, True), (0o770, False), (0o2750, False)):
        tmp_path.chmod(bits)
        assert is_shared(tmp_path) is shared
    assert not is_shared(tmp_path / "nothing")


def test_an_account_without_a_name_has_its_number_for_one() -> None:
    assert account(0) == "root"
    assert account(40001) == "uid40001"


def test_who_has_no_name_and_says_none_acts_by_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("USER", "LOGNAME", "LNAME", "USERNAME"):
        monkeypatch.delenv(variable, raising=False)

    def nobody(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr("pwd.getpwuid", nobody)
    assert App.at(tmp_path).user == f"uid{os.geteuid()}"


@pytest.mark.root
@pytest.mark.parametrize(("first", "second"), [(ADA, BOB), (BOB, ADA)])
def test_what_one_makes_the_other_writes(folder: Path, first: Account, second: Account) -> None:
    path = folder / "a" / "b" / "file"
    with first.acting():
        make_folder(path.parent, 0o700)
        put(path.with_name("secret"), "x")
        with open(path, "a", opener=opener) as file:
            file.write("one\n")
    with second.acting():
        with open(path, "a", opener=opener) as file:
            file.write("two\n")
        path.with_name("more").touch()
        with pytest.raises(PermissionError):
            path.with_name("secret").read_text("utf-8")
    assert path.read_text("utf-8") == "one\ntwo\n"
    assert path.stat().st_gid == GROUP
    assert [mode(each) for each in (path.parent, path)] == [0o2770, 0o660]


@pytest.mark.root
def test_what_is_ones_own_the_others_only_read(folder: Path) -> None:
    path = folder / "ada" / "log"
    with ADA.acting():
        make_folder(path.parent, own=True)
        with open(path, "w", opener=opener) as file:
            file.write("words")
    with BOB.acting():
        assert path.read_text("utf-8") == "words"
        assert not is_mine(path)
        with pytest.raises(NotYoursError, match=r"log is uid40001's, and not uid40002's: "):
            check_mine(path)
        for act in (path.unlink, path.with_name("more").touch, lambda: path.write_text("lies")):
            with pytest.raises(PermissionError):
                act()


@pytest.mark.root
def test_a_link_that_somebody_laid_leads_nowhere(folder: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    with BOB.acting():
        (folder / "log").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"):
        open(folder / "log", "a", opener=opener)  # noqa: SIM115 - it does not open
    with pytest.raises(OSError, match="symbolic links"):
        follow(folder / "log")
    assert not is_mine(folder / "log")
    assert victim.read_text("utf-8") == "mine"


def test_where_nobody_else_writes_links_are_ones_own(tmp_path: Path) -> None:
    (tmp_path / "log").symlink_to(tmp_path / "elsewhere")
    with open(tmp_path / "log", "a", opener=opener) as file:
        file.write("x")
    assert (tmp_path / "elsewhere").read_text("utf-8") == "x"


def test_a_file_keeps_the_rights_that_its_owner_gave_it_later(tmp_path: Path) -> None:
    tmp_path.chmod(0o2770)
    path = tmp_path / "log"
    for text in ("one", "two"):
        with open(path, "a", opener=opener) as file:
            file.write(text)
        path.chmod(0o600)
    assert mode(path) == 0o600
