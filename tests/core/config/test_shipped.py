"""``code`` in job and tasks files: which folder is shipped, where to, and what was packed."""

from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from jobman_core.config.job import JobFile, read_job, read_snapshot
from jobman_core.config.surroundings import Surroundings
from jobman_core.config.tasks import parse_tasks
from jobman_core.errors import ConfigError
from jobman_core.models.task import Code, TaskSpec

Parse = Callable[..., JobFile]
Faults = Callable[..., list[str]]

_JOB = "job: {name: hello}\ntpu: {cloud: local, accelerator: v4-8}\n"
_SNAPSHOT = "ab" * 32


def code_of(file: JobFile) -> Code:
    assert file.code is not None
    return file.code


def test_a_job_ships_a_folder_to_one_of_its_name(parse: Parse, home: Path) -> None:
    (home / "mine").mkdir()
    assert code_of(parse(_JOB + "code: {path: mine}\n")) == Code(str(home / "mine"), "mine")


def test_what_is_excluded_and_where_it_goes_can_be_said(parse: Parse, home: Path) -> None:
    file = parse(_JOB + "code:\n  path: .\n  exclude: ['*.ckpt', /data/]\n  workdir: a/b\n")
    assert code_of(file) == Code(str(home), "a/b", ("*.ckpt", "/data/"))


def test_without_code_nothing_is_shipped(parse: Parse) -> None:
    assert parse(_JOB).code is None
    assert parse(_JOB + "code:\n").code is None


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ("code: {}", "code.path: it is missing"),
        ("code: here", "code: it must be a section"),
        ("code: {path: ., paht: x}", "code.paht: unknown key 'paht'"),
        ("code: {path: /}", "code.workdir: the folder's name cannot be it"),
        ("code: {path: ., workdir: ../x}", "code.workdir: '../x' is no folder for code"),
        ("code: {path: ., exclude: x}", "code.exclude: it must be a list"),
        ("code: {path: ., exclude: ['!']}", "code.exclude[0]: '!' is no pattern"),
        (f"code: {{path: ., snapshot: {_SNAPSHOT}}}", "code.snapshot: jobman writes it"),
        ("code: {path: ., snapshot: latest}", "code.snapshot: 'latest' names no snapshot"),
        ("a: &c {path: .}\ncode: *c", "unknown section"),
    ],
)
def test_what_is_wrong_is_told_at_its_key(faults: Faults, section: str, expected: str) -> None:
    assert expected in faults(_JOB + section + "\n")[0]


@pytest.mark.parametrize(
    "section",
    [
        "code: {path: .}",
        "code:\n  path: .\n  exclude:\n    - x",
        "code:\n  # why\n  path: .\n  snapshot:\n",
        "code: {snapshot: null, path: .}",
    ],
)
def test_the_jobs_own_file_says_what_was_packed(
    around: Surroundings, tmp_path: Path, section: str
) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(_JOB + section + "\n")
    file = read_job(path, around)
    snapshot = tmp_path / "config.yaml"
    snapshot.write_text(file.snapshot("1", code=_SNAPSHOT))
    again = read_snapshot(snapshot, around)
    assert again.spec() == attrs.evolve(
        file.spec("1"), code=attrs.evolve(code_of(file), snapshot=_SNAPSHOT)
    )
    # As the folder's owner wants it packed anew.
    without = snapshot.read_text().replace(f'snapshot: "{_SNAPSHOT}"', "snapshot: null")
    snapshot.write_text(without)
    assert code_of(read_snapshot(snapshot, around)).snapshot is None
    snapshot.write_text(read_snapshot(snapshot, around).snapshot(code="cd" * 32))
    assert code_of(read_snapshot(snapshot, around)).snapshot == "cd" * 32


def test_keys_are_put_into_two_sections_at_once(around: Surroundings, tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text("code:\n    path: .\ntpu:\n  accelerator: v4-8\n  zone: x\njob: {name: a}\n")
    local = attrs.evolve(around, settings=attrs.evolve(around.settings, cloud="local"))
    text = read_job(path, local).snapshot("1", code=_SNAPSHOT)
    assert text.startswith(f'code:\n    snapshot: "{_SNAPSHOT}"\n    path: "')
    assert '\ntpu:\n  name: "a-1"\n  cloud: "local"\n  accelerator: v4-8\n' in text


# -- tasks ---------------------------------------------------------------------------------------


def tasks(text: str, home: Path | None = None) -> dict[str, TaskSpec]:
    found = parse_tasks(text, Path("/somewhere/tasks.yaml"), home)
    return {task.id: task for task in found.tasks}


_TASKS = """\
repos: {{mine: u}}
defaults: {defaults}
accelerators:
  v4-8:
    {group}
    tasks:
      - {{id: a, run: x{task}}}
      - {{id: b, run: x}}
"""


def written(defaults: str = "", group: str = "", task: str = "") -> str:
    return _TASKS.format(defaults=defaults, group=group, task=task)


def test_a_task_inherits_code_from_its_group_and_from_defaults() -> None:
    found = tasks(written("{code: {path: /p/one, exclude: [x]}}", "", ", code: {path: /p/two}"))
    assert found["a"].code == Code("/p/two", "two")
    assert found["b"].code == Code("/p/one", "one", ("x",))
    assert found["b"].workdir == "one"
    assert tasks(written("{code: {path: /p/one}}", "code:"))["b"].code is None


def test_who_says_where_code_comes_from_inherits_nothing_else_of_it() -> None:
    found = tasks(written("{repo: mine, branch: dev}", "", ", code: {path: /p/two}"))
    assert (found["a"].code, found["a"].repo) == (Code("/p/two", "two"), None)
    assert found["b"].code is None
    assert found["b"].repo is not None
    found = tasks(written("{code: {path: /p/one}}", "repo: mine"))
    assert (found["b"].code, found["b"].workdir) == (None, "mine")


def test_the_workdir_of_a_task_holds_for_its_code() -> None:
    found = tasks(
        written("{workdir: w, code: {path: /p/one}}", "", ", code: {path: /, workdir: v}")
    )
    assert (found["a"].workdir, found["b"].workdir) == ("v", "w")


def test_a_folder_is_looked_up_from_the_home_then_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    text = written("{code: {path: here}}", "", ", code: {path: there}")
    found = tasks(text, tmp_path)
    assert found["b"].code == Code(str(tmp_path / "here"), "here")
    # What is nowhere may come yet: it is the home's.
    assert found["a"].code == Code(str(tmp_path / "there"), "there")
    assert tasks(text)["b"].code == Code("/somewhere/here", "here")


@pytest.mark.parametrize("place", ["defaults", "group", "task"])
def test_code_and_a_repo_in_one_place_are_a_fault(place: str) -> None:
    both = "repo: mine, code: {path: /x}"
    texts = {"defaults": f"{{{both}}}", "group": "repo: mine\n    code: {path: /x}"}
    texts["task"] = f", {both}"
    with pytest.raises(ConfigError) as caught:
        tasks(written(**{place: texts[place]}))
    (fault,) = caught.value.faults
    assert fault.key.endswith("code")
    assert fault.message == "there is a repo as well: take one of them out"


def test_a_task_has_no_say_in_what_was_packed() -> None:
    with pytest.raises(ConfigError, match="unknown key 'snapshot'"):
        tasks(written("", "", f", code: {{path: /x, snapshot: {_SNAPSHOT}}}"))
