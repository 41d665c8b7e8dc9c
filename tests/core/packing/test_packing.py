"""What of a folder is shipped, judged by git itself, and the archive that it becomes."""

import os
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from jobman_core.errors import InvalidInputError
from jobman_core.models.task import Code
from jobman_core.packing import LARGEST, in_units, list_folder, pack

_GIT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": "x@y" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(("git", *arguments), cwd=folder, env=_GIT, check=True, capture_output=True)


def fill(folder: Path, *names: str, text: str = "x") -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def shipped(folder: Path, *exclude: str) -> list[str]:
    found = list_folder(Code(str(folder), "there", exclude))
    return [item.path for item in found.items]


@pytest.fixture(params=["a work tree", "a plain folder"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Give a folder that git knows, and one that it does not."""
    folder = tmp_path / "project"
    folder.mkdir()
    if request.param == "a work tree":
        git(folder, "init", "-q")
    return folder


def test_ships_what_gitignore_leaves_in_all_folders(folder: Path) -> None:
    fill(folder, "train.py", "data/big.bin", "data/keep.md", "src/a.py", "src/a.pyc", "src/out/log")
    fill(folder, "src/deep/out/log", "src/deep/b.pyc", "build/x", "deep/build/x", "top.txt")
    fill(folder, ".gitignore", text="*.pyc\n/build/\n# a remark\n!\n")
    fill(folder, "data/.gitignore", text="*\n!keep.md\n")
    fill(folder, "src/.gitignore", text="out/\n!deep/b.pyc\n")
    assert shipped(folder) == [
        ".gitignore",
        "data/keep.md",
        "deep/build/x",
        "src/.gitignore",
        "src/a.py",
        "src/deep/b.pyc",
        "top.txt",
        "train.py",
    ]


def test_what_git_says_to_ship_is_what_ships_without_git(tmp_path: Path) -> None:
    known, plain = tmp_path / "known", tmp_path / "plain"
    rules = {
        ".gitignore": "*.log\n!keep.log\n/only-here\nfoo/**/bar\n[ab].txt\nq?\ndir/\n\\#odd\n a\n",
        "sub/.gitignore": "!*.log\n/x\ndir/*\n!dir/in\n",
    }
    names = ["a.log", "keep.log", "only-here", "sub/only-here", "foo/1/2/bar", "foo/bar", "a.txt"]
    names += ["c.txt", "q1", "q12", "dir/in", "sub/dir/in", "sub/dir/not", "#odd", " a", "sub/x"]
    names += ["sub/z.log", "sub/sub/x", "sub/sub/dir", "foo/1/bar/deep"]
    for place in (known, plain):
        fill(place, *names)
        for name, text in rules.items():
            fill(place, name, text=text)
    git(known, "init", "-q")
    assert shipped(plain) == shipped(known)


def test_git_itself_never_ships(folder: Path) -> None:
    fill(folder, "a", "sub/.git", "sub/b")
    assert not [name for name in shipped(folder) if ".git" in name]


def test_excludes_come_on_top(folder: Path) -> None:
    fill(folder, "a.py", "notes/x.md", "notes/keep.md", "deep/notes/y.md", "w.ckpt")
    assert shipped(folder, "*.ckpt", "/notes/*", "!/notes/keep.md") == [
        "a.py",
        "deep/notes/y.md",
        "notes/keep.md",
    ]


def test_no_exclude_brings_back_what_is_in_an_excluded_folder(folder: Path) -> None:
    fill(folder, "a", "notes/keep", "deep/notes/keep", "deep/b")
    assert shipped(folder, "notes/", "!notes/keep") == ["a", "deep/b"]


def test_files_that_were_deleted_or_are_new_ship_as_they_are(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    fill(tmp_path, "old", "stays")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "x")
    (tmp_path / "old").unlink()
    fill(tmp_path, "new", "stays", text="changed")
    assert shipped(tmp_path) == ["new", "stays"]


def test_a_folder_below_a_work_tree_keeps_the_rules_above_it(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    fill(tmp_path, "sub/a", "sub/b.tmp", "other")
    fill(tmp_path, ".gitignore", text="*.tmp\n")
    assert shipped(tmp_path / "sub") == ["a"]


def test_repositories_inside_ship_by_their_own_rules(tmp_path: Path) -> None:
    top, inner, hollow = tmp_path / "top", tmp_path / "top/inner", tmp_path / "top/hollow"
    for folder in (top, inner, hollow):
        folder.mkdir()
        git(folder, "init", "-q")
        fill(folder, "a", "no.tmp")
        fill(folder, ".gitignore", text="*.tmp\n")
        git(folder, "add", "a")
        git(folder, "commit", "-qm", "x")
    git(top, "-c", "advice.addEmbeddedRepo=false", "add", "hollow")
    subprocess.run(("rm", "-rf", hollow / ".git"), check=True)
    both = ["a", ".gitignore"]
    expected = [*both, *(f"{sub}/{name}" for sub in ("inner", "hollow") for name in both)]
    assert shipped(top) == sorted(expected)
    # Git has nothing to say of what is inside.
    assert shipped(hollow) == sorted(both)


def test_another_repository_that_a_hook_of_git_means_is_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        git(folder, "init", "-q")
    fill(one, "a")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / "index"))
    assert shipped(one) == ["a"]


def test_a_homes_jobs_and_the_state_of_its_queues_stay_here(folder: Path) -> None:
    fill(folder, "train.py", "jobs/.jobman/jobman.db", "jobs/ada/000001/config.yaml")
    fill(folder, "lab/jobs/.jobman/jobman.db", "lab/jobs/x", "mine/jobs/x", "tasks.yaml")
    fill(folder, "tasks_state.yaml", ".tasks_state.yaml.lock", text='# change\nhome: "abc"\n')
    fill(folder, "model_state.yaml", text="weights: 1\n")
    assert shipped(folder) == ["mine/jobs/x", "model_state.yaml", "tasks.yaml", "train.py"]


def test_what_is_no_file_is_passed_over(folder: Path) -> None:
    fill(folder, "a")
    os.mkfifo(folder / "pipe")
    assert shipped(folder) == ["a"]


def test_a_folder_that_is_not_there_or_ships_nothing_is_refused(folder: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"there is no folder .*: correct the path"):
        shipped(folder / "nowhere")
    with pytest.raises(InvalidInputError, match="it holds no files but ignored ones"):
        shipped(folder)


def test_too_large_a_folder_is_refused_and_its_biggest_parts_named(folder: Path) -> None:
    fill(folder, "small")
    sizes = {"data/one": 300, "data/two": 150, "model.bin": 60, "logs/x": 20, "tiny/x": 1}
    for name, size in sizes.items():
        fill(folder, name)
        os.truncate(folder / name, size * 1_000_000)
    told = r"are more than 500 MB, most of it in data/ \(450 MB\), model.bin \(60 MB\), logs/ \(20"
    with pytest.raises(InvalidInputError, match=told):
        shipped(folder)
    assert len(shipped(folder, "two")) == 5
    os.truncate(folder / "data/one", 0)
    os.truncate(folder / "model.bin", LARGEST - 171_000_001)
    assert list_folder(Code(str(folder), "x")).size == LARGEST


def test_what_git_refuses_to_look_at_is_told_in_its_words(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / ".git/config").write_text("[core]\n\trepositoryformatversion = 99\n")
    with pytest.raises(InvalidInputError, match=r"git cannot list .*version.*`git status`"):
        shipped(tmp_path)


@pytest.mark.parametrize(
    ("size", "said"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (999_499, "999 kB"), (999_500, "1 MB")],
)
def test_sizes_are_told_in_three_digits(size: int, said: str) -> None:
    assert in_units(size) == said


# -- the archive ---------------------------------------------------------------------------------


@pytest.fixture
def packed(tmp_path: Path) -> Callable[[Path], Path]:
    """Give what packs a folder, and unpacks it elsewhere with the tar that hosts have."""

    def act(folder: Path) -> Path:
        archive = pack(list_folder(Code(str(folder), "x")), tmp_path / "archives")
        assert archive.path.name == f"{archive.snapshot}.tar.gz"
        out = tmp_path / f"out-{archive.snapshot}"
        out.mkdir()
        subprocess.run(("tar", "-xzpf", archive.path, "-C", out), check=True)
        return out

    return act


def test_the_same_content_gives_the_same_archive(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    names = ["b", "a/x", "a.b", "a-b", "é"]
    fill(one, *names)
    fill(other, *reversed(names))
    for number, name in enumerate(names):
        os.utime(other / name, (number, number))
    archives = tmp_path / "archives"
    first, second = (pack(list_folder(Code(str(f), "x")), archives) for f in (one, other))
    assert first == second
    fill(other, "b", text="y")
    third = pack(list_folder(Code(str(other), "x")), archives)
    (other / "b").chmod(0o755)
    fourth = pack(list_folder(Code(str(other), "x")), archives)
    assert len({first.snapshot, third.snapshot, fourth.snapshot}) == 3
    assert sorted(path.name for path in archives.iterdir()) == sorted(
        f"{each.snapshot}.tar.gz" for each in (first, third, fourth)
    )
    assert {path.stat().st_mode & 0o777 for path in archives.iterdir()} == {0o600}


def test_modes_links_and_odd_names_come_out_as_they_went_in(
    folder: Path, packed: Callable[[Path], Path]
) -> None:
    odd = ["-rf", "it's $HOME", "two\nlines", "*", "é" * 100, "deep/" * 40 + "x", "back\\slash"]
    fill(folder, *odd)
    (folder / os.fsdecode(b"\xff\xfe")).write_text("not UTF-8")
    for name, mode in (("run.sh", 0o755), ("secret", 0o600), ("shared", 0o4775)):
        fill(folder, name)
        (folder / name).chmod(mode)
    links = {"to-file": "run.sh", "to-folder": "deep", "to-nothing": "../no//where", "abs": "/etc"}
    links["to-" + "y" * 150] = "z" * 150
    for name, target in links.items():
        (folder / name).symlink_to("x")
        (folder / name).unlink()
        os.symlink(target, folder / name)  # noqa: PTH211 - a Path would tidy it up
    out = packed(folder)
    assert {name: os.readlink(out / name) for name in links} == links  # noqa: PTH115 - the same
    assert (out / os.fsdecode(b"\xff\xfe")).read_text() == "not UTF-8"
    assert all((out / name).read_text() == "x" for name in odd)
    modes = [(out / name).stat().st_mode & 0o7777 for name in ("run.sh", "secret", "shared")]
    assert modes == [0o755, 0o600, 0o775]


def test_wheels_can_be_built_of_what_comes_out(
    folder: Path, packed: Callable[[Path], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder, "a.py")
    monkeypatch.setenv("TZ", "Pacific/Midway")
    out = packed(folder)
    with zipfile.ZipFile(out / "x.zip", "w") as file:
        file.write(out / "a.py")


def test_what_others_who_were_killed_left_is_removed_after_a_day(
    folder: Path, tmp_path: Path
) -> None:
    fill(folder, "a")
    fill(tmp_path, "archives/.old.tmp", "archives/.new.tmp")
    os.utime(tmp_path / "archives/.old.tmp", (1, 1))
    archive = pack(list_folder(Code(str(folder), "x")), tmp_path / "archives")
    left = sorted(path.name for path in (tmp_path / "archives").iterdir())
    assert left == [".new.tmp", archive.path.name]


def test_a_file_that_cannot_be_read_is_named(folder: Path, tmp_path: Path) -> None:
    fill(folder, "a", "b")
    listing = list_folder(Code(str(folder), "x"))
    (folder / "b").unlink()
    with pytest.raises(InvalidInputError, match=r"/b cannot be read \(No such file"):
        pack(listing, tmp_path / "archives")
    assert list((tmp_path / "archives").iterdir()) == []
