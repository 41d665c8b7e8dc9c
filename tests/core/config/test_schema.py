"""The schemas that editors check files by: they let pass all that the readers accept."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.config.conftest import TASKS, WORKER
from tests.core.config.schemas import complaints
from tests.core.config.test_any_text import KEYS, VALUES, bounded

from jobman_core.app import App
from jobman_core.config.job import parse_job
from jobman_core.config.kinds import Schema
from jobman_core.config.schema import job_schema, settings_schema, tasks_schema
from jobman_core.config.settings_file import read_settings
from jobman_core.config.surroundings import Surroundings
from jobman_core.config.tasks import parse_tasks
from jobman_core.errors import ConfigError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("file", ["job", "tasks", "settings"])
def test_a_schema_is_one_of_2020_12(tmp_path: Path, file: str) -> None:
    schema = App.at(tmp_path).schema(file)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)


def test_another_kind_of_file_has_none(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="did you mean job"):
        App.at(tmp_path).schema("jobs")


@pytest.mark.parametrize("name", ["job.yaml", "worker.yaml", "tasks.yaml"])
def test_the_examples_pass(tmp_path: Path, name: str) -> None:
    schema = App.at(tmp_path).schema("tasks" if name == "tasks.yaml" else "job")
    assert complaints(schema, (ROOT / "examples" / name).read_text()) == []


def test_the_files_of_the_manual_pass(around: Surroundings) -> None:
    assert complaints(job_schema(around), WORKER) == []
    assert complaints(tasks_schema(), TASKS) == []


JOB = "job: {name: a}\ntpu: {accelerator: v4-8, cloud: local}\n"


@pytest.mark.parametrize(
    "more",
    [
        "command: null\nssh:\ngcsfuse: ~\n",
        "command: {cmd: x, workers: '${job.name}'}\n",
        "command: {cmd: x, workers: [0, '${oc.env:N}']}\n",
        "code: {path: ., exclude: [1, true]}\n",
        "venv: {}\n",
        "brevo_email: {any: [thing]}\n",
        "docker: {image: a, env_vars: [A=1, B=]}\n",
    ],
)
def test_what_is_odd_and_legal_passes(around: Surroundings, more: str) -> None:
    assert complaints(job_schema(around), JOB + more) == []


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("job: {name: a}\n", "$"),
        ("job: null\ntpu: {accelerator: v4-8}\n", "$.job"),
        (JOB + "comand: {cmd: x}\n", "$"),
        (JOB + "command: {cmd: x, worker: 0}\n", "$.command"),
        (JOB + "command: {cmd: x, workers: -1}\n", "$.command.workers"),
        (JOB + "command: {cmd: x, workers: [0, 0]}\n", "$.command.workers"),
        (JOB + "command: {cmd: ' '}\n", "$.command.cmd"),
        (JOB.replace("v4-8", "v9-8"), "$.tpu.accelerator"),
        (JOB.replace("name: a", "name: [a]"), "$.job.name"),
        (JOB.replace("name: a", "name: a, loop: sometimes"), "$.job.loop"),
        (JOB.replace("name: a", "name: a, unreachable_timeout: soon"), "$.job.unreachable_timeout"),
        (JOB.replace("name: a", "name: a, environment: {1A: x}"), "$.job.environment"),
        (JOB.replace("name: a", "name: a, environment: {JOBMAN_X: x}"), "$.job.environment"),
        (JOB.replace("name: a", "name: a, env_type: venv"), "$"),
        (JOB.replace("name: a", "name: a, env_type: venv") + "venv: {python: 3.10}\n", "$.venv"),
        (JOB.replace("local", "pods"), "$.tpu"),
        (
            JOB + "gcsfuse: {bucket_name: b, mount_path: /m, extra_mounts: {cache: {}}}\n",
            "$.gcsfuse.extra_mounts",
        ),
    ],
)
def test_what_is_wrong_in_a_job_file_is_told_at_its_place(
    around: Surroundings, text: str, place: str
) -> None:
    with pytest.raises(ConfigError):
        parse_job(text, Path("job.yaml"), around)
    told = complaints(job_schema(around), text)
    assert [line for line in told if line.startswith(f"{place}: ")], told


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("defaults: {}\n", "$"),
        ("tasks: []\naccelerators: {}\n", "$"),
        ("accelerators: {v4: {}}\n", "$.accelerators"),
        ("accelerators: {v4-8: {tasks: [{id: a}]}}\n", "$.accelerators['v4-8'].tasks"),
        ("accelerators: {v4-8: {max_jobs: 0}}\n", "$.accelerators['v4-8'].max_jobs"),
        ("accelerators: {v4-8: {maxjobs: 1}}\n", "$.accelerators['v4-8']"),
        ("repos: {a: {branch: b}}\naccelerators:\n", "$.repos.a"),
    ],
)
def test_what_is_wrong_in_a_tasks_file_is_told(text: str, place: str) -> None:
    with pytest.raises(ConfigError):
        parse_tasks(text, Path("tasks.yaml"))
    told = complaints(tasks_schema(), text)
    assert [line for line in told if line.startswith(place)], told


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("clud: gcp\n", "$"),
        ("prices: {v6e: -1}\n", "$.prices.v6e"),
        ("clouds: {local: {zone: a}}\n", "$.clouds"),
        ("notify: everybody\n", "$.notify"),
        ("reap: {places: [{project: a}]}\n", "$.reap"),
    ],
)
def test_what_is_wrong_in_settings_is_told(tmp_path: Path, text: str, place: str) -> None:
    app, path = App.at(tmp_path), Path("jobman.yaml")
    with pytest.raises(ConfigError):
        read_settings([(path, text.encode())], path, app.plugins_loaded)
    told = complaints(app.schema("settings"), text)
    assert [line for line in told if line.startswith(place)], told


#: Files that are near to being right.
JOBS = st.fixed_dictionaries(
    {
        "job": st.fixed_dictionaries(
            {"name": st.sampled_from(["a", "1", "${tpu.zone}"])},
            optional={
                "loop": st.sampled_from(["yes", "always", "FALSE", "${job.pipefail}", "null"]),
                "pipefail": st.sampled_from(["on", "False", "1", "~"]),
                "max_restarts": st.sampled_from(["0", "1_000", "+3", "007", "'3'", "1e3"]),
                "unreachable_timeout": st.sampled_from(["9", "1.5h", "' 3 m '", "-1", "1e3"]),
                "worker_num": st.sampled_from(["auto", "spot", "007", "a b"]),
                "environment": st.sampled_from(["{A: 1, B: }", "{A: [1]}", "{}", "null"]),
                "prefix": st.sampled_from(["ls", "[ls, {run: ls, workers: all}]", "[{}]"]),
                "notify": st.sampled_from(["owner", "{of: [failed]}", "{to: nobody}", "[]"]),
            },
        ),
        "tpu": st.fixed_dictionaries(
            {"accelerator": st.sampled_from(["v4-8", "v5e-4", "v6e-20", "${job.name}"])},
            optional={
                "cloud": st.sampled_from(["local", "gcp", "pods"]),
                "zone": st.sampled_from(["us-a", "1", "'-'"]),
                "zones": st.sampled_from(["[b, '${tpu.zone}']", "b", "[]"]),
                "metadata": st.sampled_from(["{a: 1}", "{a: }", "[a]"]),
                "limits": st.sampled_from(["{a: 1}", "{a: b}"]),
                "namespace": st.sampled_from(["x", "''", "null"]),
            },
        ),
    },
    optional={
        "command": st.sampled_from(["{cmd: x}", "{cmd: x, workers: [0]}", "null", "{}"]),
        "venv": st.sampled_from(["{name: v}", "{python: 3}", "{}", "{nam: v}"]),
        "ssh": st.sampled_from(["{options: [A=b]}", "{options: {Ciphers: }}", "{port: 22}"]),
    },
)


def written(value: object) -> str:
    """Write maps whose leaves are YAML already."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {written(child)}" for key, child in value.items()) + "}"
    return str(value)


def reads(text: str, around: Surroundings, home: Path) -> list[Schema]:
    """Give the schemas of the readers that accept a text."""
    settings = home / "jobman.yaml"
    readers: list[tuple[Callable[[], object], Callable[[], Schema]]] = [
        (lambda: parse_job(text, home / "job.yaml", around), lambda: job_schema(around)),
        (lambda: parse_tasks(text, home / "tasks.yaml"), tasks_schema),
        (
            lambda: read_settings([(settings, text.encode())], settings, around.plugins),
            lambda: settings_schema(around.plugins),
        ),
    ]
    accepting: list[Schema] = []
    for read, schema in readers:
        with contextlib.suppress(ConfigError):
            read()
            accepting.append(schema())
    return accepting


@bounded
@given(st.one_of(JOBS, st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)))
def test_whatever_a_reader_accepts_passes(
    around: Surroundings, home: Path, pairs: dict[str, object]
) -> None:
    text = "".join(f"{key}: {written(value)}\n" for key, value in pairs.items())
    for schema in reads(text, around, home):
        assert complaints(schema, text) == []
