"""Whatever stands in a file: a result or its faults, never a traceback and never a hang."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobman_core.config.job import parse_job
from jobman_core.config.settings_file import read_settings
from jobman_core.config.surroundings import Surroundings
from jobman_core.config.tasks import parse_tasks
from jobman_core.errors import ConfigError
from jobman_core.models.settings import Settings
from jobman_core.models.task import QueueDefinition

bounded = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

#: Bits that YAML, interpolation and our own keys are made of.
WORDS = r"""
job: tpu: name: loop: queue: prefix: environment: command: cmd: workers: ssh: gcsfuse: venv:
accelerators: tasks: - id: run: repos: defaults: depends_on: v4-8: accelerator: cloud: local
[ ] { } , & * ! | > ' " % @ ` # --- ... << ~ null true 1 1e3 0x1F .inf 2024-01-01 \ \x ${ $$
${tpu.name} ${oc.env:RUNNER} ${oc.env: } &a *a !!int 9 v4-32 all enabled: config:
"""
BITS = st.sampled_from(WORDS.split())
SPACES = st.sampled_from(
    ["", " ", "\n", "\n  ", "\n    ", "\n      ", "\t", ": ", "\r\n", "\u2028"]
)
SOUP = st.lists(st.tuples(BITS, SPACES), max_size=30).map(
    lambda pairs: "".join(bit + space for bit, space in pairs)
)


def check(read: Callable[[], object], kind: type) -> None:
    """Hold a reader to giving a result, or faults that each fit into one line."""
    try:
        result = read()
    except ConfigError as error:
        lines = [str(fault) for fault in error.faults]
    else:
        assert isinstance(result, kind)
        return
    assert lines
    assert not [line for line in lines if "\n" in line]


@bounded
@given(st.one_of(SOUP, st.text(max_size=200)))
def test_job_files(around: Surroundings, home: Path, text: str) -> None:
    def read() -> str:
        file = parse_job(text, home / "job.yaml", around)
        return file.snapshot("1")

    check(read, str)


@bounded
@given(st.one_of(SOUP.map(str.encode), st.binary(max_size=200)))
def test_tasks_files(content: bytes) -> None:
    check(lambda: parse_tasks(content, Path("tasks.yaml")), QueueDefinition)


@bounded
@given(st.one_of(SOUP.map(str.encode), st.binary(max_size=200)))
def test_settings_files(content: bytes) -> None:
    path = Path("jobman.yaml")
    check(lambda: read_settings([(path, content)], path), Settings)


#: Plain data of any shape, under keys that mean something.
KEYS = st.sampled_from(
    ["job", "tpu", "name", "queue", "prefix", "run", "workers", "environment", "command", "cmd",
     "accelerators", "tasks", "id", "depends_on", "repos", "defaults", "v4-8", "loop", "zones",
     "gcsfuse", "extra_mounts", "cache", "ssh", "identities", "docker", "env_vars", "accelerator"]
)  # fmt: skip
VALUES = st.recursive(
    st.sampled_from(["x", "1", "true", "null", "''", "${job.name}", "${tpu.zone}", "-1", "v4-8"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.dictionaries(KEYS, inner, max_size=4).map(
            lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs.items()) + "}"
        ),
    ),
    max_leaves=12,
)


@bounded
@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4))
def test_valid_yaml_of_any_shape(around: Surroundings, home: Path, pairs: dict[str, str]) -> None:
    text = "".join(f"{key}: {value}\n" for key, value in pairs.items())
    check(lambda: parse_job(text, home / "job.yaml", around).spec("1").name, str)
    check(lambda: parse_tasks(text, Path("tasks.yaml")), QueueDefinition)


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "\\" * 200_000 + "${x",
        "a: '" + "$" * 200_000 + "{'",
        "job: {name: '" + "${job.name}" * 20_000 + "'}",
        "a: " + "x: " * 50_000,
        "&a " * 20_000,
        "- " * 50_000,
        "? " * 50_000,
        "a: '" + "\n" * 100_000,
        "job: {name: " + "{a: " * 30 + "}" * 30 + "}",
    ],
    ids=range(9),
)
@pytest.mark.timeout(20)
def test_long_and_odd_files_take_no_time(around: Surroundings, home: Path, text: str) -> None:
    check(lambda: parse_job(text, home / "job.yaml", around), str)
