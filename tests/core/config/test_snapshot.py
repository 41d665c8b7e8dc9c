"""The snapshot: the user's own text, final, and the same job when it is read again."""

from collections.abc import Callable
from pathlib import Path

import attrs
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from jobman_core.config.job import JobFile, load_snapshot, parse_job, read_job, read_snapshot
from jobman_core.config.snapshot import quote
from jobman_core.config.source import parse_source
from jobman_core.config.surroundings import Surroundings
from jobman_core.errors import ConfigError
from jobman_core.models.job import JobSpec
from jobman_core.models.settings import Settings

Parse = Callable[..., JobFile]
Faults = Callable[..., list[str]]

SMALL = (
    "job: {{name: hello, environment: {{A: {value}}}}}\ntpu: {{cloud: local, accelerator: v4-8}}\n"
)


def again(file: JobFile, suffix: str, around: Surroundings, folder: Path) -> JobSpec:
    """Write a snapshot and read it where nothing of the environment is left."""
    path = folder / "config.yaml"
    path.write_text(file.snapshot(suffix), encoding="utf-8")
    return load_snapshot(path, attrs.evolve(around, environ={}))


def test_the_worker_file_reads_back_as_the_same_job(
    worker: Path, around: Surroundings, tmp_path: Path
) -> None:
    file = read_job(worker, around)
    assert again(file, "3", around, tmp_path) == file.spec("3")


def test_comments_order_and_style_stay(worker: Path, around: Surroundings, home: Path) -> None:
    before = worker.read_text().splitlines()
    after = read_job(worker, around).snapshot("3").splitlines()
    changed = [line for line in after if line not in before]
    key = Path("~/.ssh/my_key").expanduser()
    assert changed == [
        '  name: "myproject-qw-v6e-64_3"  # the suffix comes on top',
        f'    config: "{home}/queue_machines/tasks.yaml"',
        '  cloud: "gcp"',
        '  name: "myproject-qw-v6e-64-3"',
        f'  private_key: "{key}"',
        f'    - private_key: "{key}"',
        f'      public_key: "{key}.pub"',
        f'  requirements_file: "{home}/assets/requirements.txt"',
    ]
    assert len(after) == len(before) + 1


def test_an_edited_snapshot_gets_no_second_suffix(
    parse: Parse, around: Surroundings, tmp_path: Path
) -> None:
    path = tmp_path / "config.yaml"
    text = parse(SMALL.format(value="1")).snapshot("000007")
    path.write_text(text.replace("A: 1", "A: 2"))
    file = read_snapshot(path, around, "hello_000007")
    spec = file.spec()
    assert (spec.name, spec.tpu_name, spec.environment) == (
        "hello_000007",
        "hello-000007",
        {"A": "2"},
    )
    assert file.base_name == "hello_000007"


def test_a_snapshot_of_a_snapshot_is_the_same_text(
    parse: Parse, around: Surroundings, tmp_path: Path
) -> None:
    path = tmp_path / "config.yaml"
    text = parse(SMALL.format(value="'${oc.env:RUNNER}'")).snapshot("1")
    path.write_text(text)
    assert read_snapshot(path, around, "hello_1").snapshot() == text


def test_a_job_keeps_its_name_whatever_its_edited_snapshot_says(
    parse: Parse, around: Surroundings, tmp_path: Path
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(parse(SMALL.format(value="1")).snapshot("7").replace("hello_7", "other"))
    with pytest.raises(ConfigError) as caught:
        read_snapshot(path, around, "hello_7")
    (fault,) = caught.value.faults
    assert (fault.key, fault.line > 0) == ("job.name", True)
    assert "keeps its name, hello_7: write it back" in fault.message


def test_a_tasks_file_that_is_gone_does_not_end_a_job(
    worker: Path, around: Surroundings, tmp_path: Path
) -> None:
    file = read_job(worker, around)
    spec, text = file.spec("1"), file.snapshot("1")
    (worker.parent / "tasks.yaml").unlink()
    (tmp_path / "config.yaml").write_text(text)
    assert load_snapshot(tmp_path / "config.yaml", around) == spec


@pytest.mark.parametrize(
    "value",
    [
        "${oc.env:X}",
        "'${oc.env:X}'",
        '"a ${oc.env:X} ${tpu.name}"',
        "&anchor ${oc.env:X}",
        "|\n  a ${oc.env:X}\n  b $HOME\n",
        ">-\n  a ${oc.env:X}\n  b\n",
    ],
)
@pytest.mark.parametrize(
    "secret",
    [
        "x",
        "5",
        "null",
        "",
        "a: b # c",
        " lead",
        "two\nlines",
        'q"\\',
        "ünï\u2028\x85\x1b",
        "- x",
        "~",
    ],
)
def test_what_the_environment_gave_stays(
    parse: Parse, around: Surroundings, tmp_path: Path, value: str, secret: str
) -> None:
    indented = value.replace("\n", "\n    ")
    text = f"""\
job:
  name: hello
  environment:
    A: {indented}
    B: ${{job.environment.A}}
tpu: {{cloud: local, accelerator: v4-8}}
"""
    file = parse(text, environ={"X": secret})
    spec = file.spec("1")
    assert secret in spec.environment["A"] or ">" in value
    assert "oc.env" not in file.snapshot("1")
    assert again(file, "1", around, tmp_path) == spec


def test_a_script_keeps_its_shape_where_it_can(parse: Parse) -> None:
    text = SMALL.format(value="1") + "command:\n  cmd: |  # go\n    echo ${oc.env:RUNNER}\n    x\n"
    assert "  cmd: |  # go\n    echo ann\n    x\n" in parse(text).snapshot("1")


@pytest.mark.parametrize("value", ["${tpu.zone}", "${HOME}", "a\\${x}", "${"])
def test_what_would_be_interpolated_when_read_again_is_refused(faults: Faults, value: str) -> None:
    (fault,) = faults(SMALL.format(value="'${oc.env:X}'"), environ={"X": value})
    assert fault.startswith("1:37: job.environment.A: what the environment gives holds something")
    assert "oc.env" not in fault


def test_two_halves_of_an_interpolation_are_refused_as_well(faults: Faults) -> None:
    text = SMALL.format(value="x").replace("v4-8}", "v4-8, zone: z}")
    text += "command: {cmd: '${oc.env:X}{tpu.zone}'}\n"
    (fault,) = faults(text, environ={"X": "$"})
    assert "read as interpolation later" in fault


def test_shell_text_from_the_environment_is_fine_in_scripts(
    parse: Parse, around: Surroundings, tmp_path: Path
) -> None:
    text = SMALL.format(value="x") + "command: {cmd: 'echo ${oc.env:X}'}\n"
    file = parse(text, environ={"X": "${HOME} $$ 'x'"})
    assert again(file, "1", around, tmp_path) == file.spec("1")


def test_names_that_are_aliases(parse: Parse, around: Surroundings, tmp_path: Path) -> None:
    text = (
        "job: {name: &n hello}\n"
        "tpu:\n  name: *n\n  cloud: local\n  accelerator: v4-8\n"
        "command: {cmd: 'echo ${tpu.name}'}\n"
    )
    file = parse(text)
    assert again(file, "1", around, tmp_path) == file.spec("1")


def test_aliases_that_tie_what_must_differ_are_refused(faults: Faults) -> None:
    text = "job: &j {name: hello}\ntpu:\n  <<: *j\n  cloud: local\n  accelerator: v4-8\n"
    (fault,) = faults(text)
    assert "alias" in fault


@pytest.mark.parametrize(
    "tpu",
    [
        "tpu:\n  name:\n  cloud: local\n  accelerator: v4-8\n",
        "tpu:\n  name: null  # the job's\n  cloud:\n  accelerator: v4-8\n  zone: z\n",
        "tpu: {name: , cloud: ~, accelerator: v4-8, zone: z}\n",
        "tpu: {accelerator: v4-8, zone: z}\n",
        "tpu: &t\n  # first\n  accelerator: v4-8\n  zone: z\n",
        '"tpu":\n    "accelerator": v4-8\n    zone: z\n',
        "tpu:\n  ? accelerator\n  : v4-8\n  ? zone\n  : z\n",
        "tpu:\r\n  accelerator: v4-8\r\n  zone: z\r\n",
    ],
)
def test_what_a_file_leaves_open_is_written_down(
    parse: Parse, around: Surroundings, tmp_path: Path, tpu: str
) -> None:
    file = parse("job: {name: hello, environment: {A: '${tpu.name}'}}\n" + tpu)
    spec = file.spec("1")
    assert spec.environment == {"A": "hello-1"}
    path = tmp_path / "config.yaml"
    path.write_text(file.snapshot("1"), newline="")
    # Neither settings nor defaults count any more.
    other = attrs.evolve(around, settings=Settings(cloud="pods", session="tmux"))
    assert load_snapshot(path, other) == spec


def test_a_copy_that_would_say_something_else_is_refused(faults: Faults) -> None:
    # There is no colon behind which the cloud could be written.
    text = "job: {name: a}\ntpu:\n  ? cloud\n  accelerator: v4-8\n  zone: z\n"
    (fault,) = faults(text)
    assert fault.startswith("0:0: the job's own copy of this file would not say the same")


def test_a_folder_with_odd_characters_is_recorded(around: Surroundings, tmp_path: Path) -> None:
    home = tmp_path / 'a ${b} "c" # d'
    home.mkdir()
    (home / "tasks.yaml").write_text("")
    odd = attrs.evolve(around, home=attrs.evolve(around.home, root=home))
    text = SMALL.format(value="1").replace("{name", "{queue: {config: tasks.yaml}, name")
    file = parse_job(text, home / "job.yaml", odd)
    assert file.queue == str(home / "tasks.yaml")
    assert again(file, "1", odd, tmp_path) == file.spec("1")


@given(st.text())
def test_any_text_can_be_quoted(text: str) -> None:
    clean = text.encode("utf-8", "replace").decode().replace("\0", "")
    root = parse_source(f"a: {quote(clean)}\n", "f.yaml").root
    assert getattr(root["a"], "text", None) == clean


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    value=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12),
    style=st.sampled_from(["'{}'", '"{} ${{tpu.name}}"', "|\n      a\n      {} b\n", "{}"]),
)
def test_whatever_the_environment_holds_is_recorded_or_refused(
    around: Surroundings, home: Path, value: str, style: str
) -> None:
    written = style.format("${oc.env:X}")
    text = (
        f"job:\n  name: a\n  environment:\n    A: {written}\n"
        "tpu: {cloud: local, accelerator: v4-8}\n"
    )
    try:
        file = parse_job(text, home / "job.yaml", attrs.evolve(around, environ={"X": value}))
    except ConfigError:
        assert "$" in value or "\\" in value
        return
    assert again(file, "1", around, home) == file.spec("1")
