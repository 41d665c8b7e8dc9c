"""Tasks files: inheritance, repositories, dependencies, and every way to get them wrong."""

import hashlib
from pathlib import Path

import pytest
from tests.core.config.schemas import complaints

from jobman_core.config.job import JobFile
from jobman_core.config.schema import tasks_schema
from jobman_core.config.tasks import parse_tasks, queue_notes, read_tasks
from jobman_core.errors import ConfigError
from jobman_core.models.notice import Audience, NoticeKind, NotifyRule
from jobman_core.models.task import Repo, TaskSpec, Workers


def parse(text: str) -> dict[str, TaskSpec]:
    definition = parse_tasks(text, Path("tasks.yaml"))
    assert complaints(tasks_schema(), text) == []
    return {task.id: task for task in definition.tasks}


def faults_of(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    return [str(fault).removeprefix("tasks.yaml:") for fault in caught.value.faults]


def group(tasks: str, before: str = "") -> str:
    """Give a file with one group of 4-host slices, whose tasks begin on line 4 (plus before)."""
    return f"{before}accelerators:\n  v4-32:\n    tasks:\n{tasks}"


def test_the_tasks_file_of_the_manual(tmp_path: Path, tasks_text: str) -> None:
    path = tmp_path / "tasks.yaml"
    path.write_text(tasks_text)
    definition = read_tasks(path)
    assert definition.content_hash == hashlib.sha256(tasks_text.encode()).hexdigest()
    first, second, third, last = definition.tasks
    assert first == TaskSpec(
        id="train-model-seed42",
        run="bash train/run_seed42.sh",
        accelerator="v6e-64",
        zone="us-central1-b",
        repo=Repo("https://github.com/username/repo", "main"),
        workdir="myrepo",
        env="my_venv",
        max_jobs=1,
        max_retries=3,
        depends_on=(),
        workers=Workers((0,)),
        hide=False,
    )
    assert second.id == "train-model-seed43"
    assert third.depends_on == ("train-model-seed42",)
    assert (last.accelerator, last.max_jobs, last.zone) == ("v6e-128", 2, "us-east5-b")


def test_every_setting_is_looked_up_in_task_then_group_then_defaults() -> None:
    tasks = parse(
        """
repos: {a: url-a, b: {url: url-b, branch: dev}}
defaults: {repo: a, zone: z0, env: e0, max_jobs: 2, max_retries: 5, workers: all, hide: yes}
accelerators:
  v4-32:
    zone: z1
    workers: [0, 3]
    depends_on: base
    tasks:
      - {id: base, run: x, depends_on: []}
      - {id: own, run: x, repo: b, zone: z2, env: e2, max_jobs: 1, max_retries: 0, workers: 1,
         hide: no, workdir: deep/er/, branch: -- }
  v5e-16:
    tasks:
      - {id: other, run: x, branch: fix, workers: [1, 2]}
""".replace(", branch: -- }", "}")
    )
    base, own, other = tasks["base"], tasks["own"], tasks["other"]
    assert (base.zone, base.workers, base.env, base.max_jobs, base.max_retries, base.hide) == (
        "z1",
        Workers((0, 3)),
        "e0",
        2,
        5,
        True,
    )
    assert (base.repo, base.workdir, base.depends_on) == (Repo("url-a", "main"), "a", ())
    assert (own.zone, own.workers, own.env, own.max_jobs, own.max_retries, own.hide) == (
        "z2",
        Workers((1,)),
        "e2",
        1,
        0,
        False,
    )
    assert (own.repo, own.workdir, own.depends_on) == (Repo("url-b", "dev"), "deep/er", ("base",))
    assert (other.accelerator, other.zone, other.repo) == (
        "v5litepod-16",
        "z0",
        Repo("url-a", "fix"),
    )


def test_defaults_without_a_file_that_says_anything() -> None:
    assert parse(group("      - {id: a, run: x}\n"))["a"] == TaskSpec("a", "x", "v4-32")


def test_an_empty_value_takes_an_inherited_setting_away() -> None:
    before = "defaults: {zone: z, env: e, max_jobs: 4}\n"
    task = parse(group("      - {id: a, run: x, zone: null, env: , max_jobs: ~}\n", before))["a"]
    assert (task.zone, task.env, task.max_jobs) == (None, None, 1)


def test_a_tasks_file_may_say_who_is_told_of_its_tasks() -> None:
    text = "notify: {to: owner, of: [failed]}\naccelerators:\n"
    assert parse_tasks(text, Path("t.yaml")).notify == NotifyRule(
        Audience.OWNER, (NoticeKind.FAILED,)
    )
    for text in ("accelerators:\n", "notify:\naccelerators:\n"):
        assert parse_tasks(text, Path("t.yaml")).notify is None


def test_groups_without_tasks_are_fine() -> None:
    assert parse("accelerators: {v4-8: , v4-16: {tasks: }, v4-32: {tasks: []}}\n") == {}
    assert parse("accelerators:\n") == {}


@pytest.mark.parametrize(
    "name",
    [
        "it's",
        'a "b"',
        "a/b",
        "$(reboot)",
        "../x",
        "ünï ☃",
        "007",
        "1e3",
        "true",
        "x" * 200,
        "~",
        "-",
    ],
)
def test_ids_are_any_text_of_one_line(name: str) -> None:
    quoted = name if name in ("007", "1e3", "true") else "'" + name.replace("'", "''") + "'"
    text = group(
        f"      - id: {quoted}\n        run: x\n      - {{id: b, run: x, depends_on: {quoted}}}\n"
    )
    assert list(parse(text)) == [name, "b"]
    assert parse(text)["b"].depends_on == (name,)


def test_scripts_are_never_interpolated() -> None:
    script = "echo ${tpu.name} ${oc.env:HOME} $HOME \\${x}"
    assert parse(group(f"      - {{id: '${{a.b}}', run: '{script}'}}\n"))["${a.b}"].run == script


def test_merge_keys_serve_as_templates() -> None:
    text = group("      - &t {id: a, run: x, max_jobs: 3}\n      - {<<: *t, id: b}\n")
    assert [task.max_jobs for task in parse(text).values()] == [3, 3]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("repos: {}\n", "1:1: accelerators: it is missing: write `accelerators:` with the tasks"),
        ("accelerator: {}\naccelerators:\n",
         "1:1: accelerator: unknown key 'accelerator' (did you mean 'accelerators'?)"),
        ("accelerators: [v4-8]\n",
         "1:15: accelerators: it must be a map of keys, not a list"),
        ("accelerators:\n  v9-8: {tasks: []}\n",
         ("2:3: accelerators.v9-8: unknown accelerator 'v9-8': use one of v2-N, v3-N, v4-N, v5p-N, "
         "v5litepod-N, v6e-N, v5e-N")),
        ("accelerators:\n  v4-8: {tasks: {a: x}}\n",
         ("2:10: accelerators.v4-8.tasks: it must be a list of tasks (each begins with `- id:`), "
         "not a map")),
        ("accelerators:\n  v4-8: {taks: []}\n",
         "2:10: accelerators.v4-8.taks: unknown key 'taks' (did you mean 'tasks'?)"),
        (group("      - train\n"),
         "4:9: accelerators.v4-32.tasks[0]: a task is a map with `id:` and `run:`, not 'train'"),
        (group("      - {run: x}\n"),
         "4:9: accelerators.v4-32.tasks[0].id: it is missing: write `id:` with its value"),
        (group("      - {id: a}\n"),
         "4:9: accelerators.v4-32.tasks[0].run: it is missing: write `run:` with its value"),
        (group("      - {id: a, rum: x}\n"),
         "4:17: accelerators.v4-32.tasks[0].rum: unknown key 'rum' (did you mean 'run'?)"),
        (group("      - {id: a, run: ' '}\n"),
         ("4:22: accelerators.v4-32.tasks[0].run: the script is empty: write what to run, or take "
         "the key out")),
        (group("      - {id: a, run: [x]}\n"),
         "4:22: accelerators.v4-32.tasks[0].run: it must be text, not a list"),
        (group('      - {id: "a\\nb", run: x}\n'),
         "4:14: accelerators.v4-32.tasks[0].id: it must be one line of plain text, not 'a\\nb'"),
        (group(f"      - {{id: {'x' * 201}, run: x}}\n"),
         "4:14: accelerators.v4-32.tasks[0].id: it has 201 characters, and an id may have 200"),
        (group("      - {id: a, run: x}\n      - {id: a, run: y}\n"),
         "5:14: accelerators.v4-32.tasks[1].id: duplicate task id 'a': the first one is on line 4"),
        (group("      - {id: a, run: x}\n  v4-8:\n    tasks: [{id: a, run: y}]\n"),
         "6:18: accelerators.v4-8.tasks[0].id: duplicate task id 'a': the first one is on line 4"),
        (group("      - {id: train, run: x}\n      - {id: b, run: y, depends_on: [trian]}\n"),
         ("5:38: accelerators.v4-32.tasks[1].depends_on[0]: no task is called 'trian' (did you "
         "mean 'train'?)")),
        (group("      - {id: a, run: y, depends_on: zz}\n"),
         "4:37: accelerators.v4-32.tasks[0].depends_on: no task is called 'zz': use one of a"),
        (group("      - {id: a, run: x, depends_on: b}\n"
               "      - {id: b, run: x, depends_on: [a]}\n"),
         ("5:38: accelerators.v4-32.tasks[1].depends_on[0]: tasks wait for each other: a -> b "
         "-> a: take one dependency out")),
        (group("      - {id: a, run: x, depends_on: a}\n"),
         ("4:37: accelerators.v4-32.tasks[0].depends_on: tasks wait for each other: a -> a: take "
         "one dependency out")),
        (group("      - {id: a, run: x, workers: [9]}\n"),
         ("4:35: accelerators.v4-32.tasks[0].workers[0]: there is no host 9: the slice has hosts 0 "
         "to 3")),
        ("accelerators:\n  v4-32:\n    workers: 4\n",
         "3:14: accelerators.v4-32.workers: there is no host 4: the slice has hosts 0 to 3"),
        (group("      - {id: a, run: x}\n", "defaults: {workers: [0, 5]}\n"),
         "1:25: defaults.workers[1]: there is no host 5: the slice has hosts 0 to 3"),
        (group("      - {id: a, run: x, max_jobs: 0}\n"),
         "4:35: accelerators.v4-32.tasks[0].max_jobs: it must be 1 or more, not 0"),
        (group("      - {id: a, run: x, max_retries: -1}\n"),
         "4:38: accelerators.v4-32.tasks[0].max_retries: it must be 0 or more, not -1"),
        (group("      - {id: a, run: x, max_jobs: 1.5}\n"),
         "4:35: accelerators.v4-32.tasks[0].max_jobs: it must be a whole number, not '1.5'"),
        (group("      - {id: a, run: x, hide: 3}\n"),
         "4:31: accelerators.v4-32.tasks[0].hide: it must be true or false, not '3'"),
        (group("      - {id: a, run: x}\n", "defaults: {max_jobs: many}\n"),
         "1:22: defaults.max_jobs: it must be a whole number, not 'many'"),
        (group("      - {id: a, run: x}\n", "defaults: {run: y}\n"),
         ("1:12: defaults.run: unknown key 'run': use one of repo, code, branch, workdir, "
         "env, zone, max_jobs, max_retries, depends_on, workers, hide")),
        (group("      - {id: a, run: x, repo: my}\n", "repos: {mine: u}\n"),
         "5:31: accelerators.v4-32.tasks[0].repo: no repo is called 'my': use one of mine"),
        (group("      - {id: a, run: x}\n", "repos: {mine: u}\ndefaults: {repo: mime}\n"),
         "2:18: defaults.repo: no repo is called 'mime' (did you mean 'mine'?)"),
        ("repos: {a: {branch: x}}\naccelerators:\n",
         "1:9: repos.a.url: it is missing: write `url:` with its value"),
        ("repos: {a: --upload-pack=x}\naccelerators:\n",
         "1:12: repos.a.url: '--upload-pack=x' begins with a dash, which git takes for an option"),
        ("repos: {a: [x]}\naccelerators:\n", "1:12: repos.a: it must be a map of keys, not a list"),
        (group("      - {id: a, run: x, branch: -b}\n"),
         ("4:33: accelerators.v4-32.tasks[0].branch: '-b' begins with a dash, which git takes for "
         "an option")),
        ("notify: {to: ower}\naccelerators:\n",
         "1:14: notify.to: 'ower' is not possible (did you mean 'owner'?)"),
        ("notify: [owner]\naccelerators:\n",
         "1:9: notify: it must be channel, owner, nobody or {to, of}, not a list"),
    ],
)  # fmt: skip
def test_what_is_wrong_and_where(text: str, expected: str) -> None:
    assert faults_of(text) == [expected]


@pytest.mark.parametrize(
    "folder",
    [
        "/x",
        "..",
        ".",
        "./x",
        "a/../..",
        "~",
        "~root/x",
        ".jobman",
        ".jobman/x",
        ".jobman2",
        ".ssh",
        ".ssh/x",
        "a//b",
        "/",
    ],
)
def test_a_workdir_is_a_plain_folder_below_the_home(folder: str) -> None:
    (fault,) = faults_of(group(f"      - {{id: a, run: x, workdir: '{folder}'}}\n"))
    assert fault.startswith("4:34: accelerators.v4-32.tasks[0].workdir: ")
    assert "is no folder for code: write a plain relative path" in fault


def test_a_repos_key_that_is_no_folder_needs_a_workdir() -> None:
    before = "repos: {../x: u}\n"
    (fault,) = faults_of(group("      - {id: a, run: x, repo: ../x}\n", before))
    assert "tasks[0].workdir: the key of the repo cannot be it" in fault
    assert (
        parse(group("      - {id: a, run: x, repo: ../x, workdir: y}\n", before))["a"].workdir
        == "y"
    )


def test_all_faults_are_told_at_once_and_each_once() -> None:
    text = group(
        "      - {id: a, run: x, max_jobs: 0, depends_on: [b]}\n"
        "      - {id: b, runn: x, depends_on: a}\n"
        "      - {id: c, run: x}\n",
        "defaults: {zone: [z], workers: [7]}\n",
    )
    keys = [fault.split(": ")[1] for fault in faults_of(text)]
    assert keys == [
        "defaults.zone",
        "defaults.workers[0]",
        "accelerators.v4-32.tasks[0].max_jobs",
        "accelerators.v4-32.tasks[1].runn",
        "accelerators.v4-32.tasks[1].depends_on",
    ]


def test_each_circle_is_shown_once_and_a_long_one_in_part() -> None:
    tasks = "".join(
        f"      - {{id: t{i}, run: x, depends_on: t{(i + 1) % 3000}}}\n" for i in range(3000)
    )
    (fault,) = faults_of(group(tasks))
    assert "t0 -> t1 -> t2" in fault
    assert "…" in fault
    assert len(fault) < 300


def test_environments_without_an_env_type_are_noted(
    home: Path, worker: Path, parse: object
) -> None:
    assert callable(parse)
    file = parse("job: {name: a}\ntpu: {cloud: local, accelerator: v4-8}\n")
    assert isinstance(file, JobFile)
    definition = read_tasks(worker.parent / "tasks.yaml")
    assert queue_notes(file.spec("1"), definition) == (
        "`env` of the tasks is passed over, as the job has no env_type",
    )
