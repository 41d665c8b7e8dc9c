"""Whatever text stands in a field that travels to a host: it is data there, or it is refused."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.lab import Lab

pytestmark = pytest.mark.e2e


@pytest.fixture
def canary() -> Iterator[Path]:
    """Give a file that must not be there: with a short name, as ids may not be long."""
    path = Path(f"/tmp/c{os.getpid()}")
    yield path
    assert not path.exists()


def evil(canary: Path) -> str:
    """Give a text of which every part would make the canary, were a shell to read it."""
    ways = ("$(touch {c})", "`touch {c}`", "; touch {c}", "| touch {c} #", "' ; touch {c} ; '")
    return "x " + " ".join(ways).format(c=canary) + f'" ; touch {canary} ; "'


#: Each field of a job file, as a line to put below its section.
FIELDS = {
    "job.name": ("job", "name"),
    "job.remote_user": ("job", "remote_user"),
    "job.worker_num": ("job", "worker_num"),
    "tpu.name": ("tpu", "name"),
    "tpu.zone": ("tpu", "zone"),
    "tpu.zones": ("tpu", "zones"),
    "tpu.version": ("tpu", "version"),
    "tpu.tags": ("tpu", "tags"),
    "tpu.metadata": ("tpu", "metadata"),
    "tpu.startup_script": ("tpu", "startup_script"),
    "job.environment": ("job", "environment"),
}


@pytest.mark.parametrize("field", FIELDS)
def test_no_field_of_a_job_file_is_read_by_a_shell(lab: Lab, canary: Path, field: str) -> None:
    text = evil(canary)
    section, key = FIELDS[field]
    value: object = text
    if key in ("zones", "tags"):
        value = [text]
    elif key in ("metadata", "environment"):
        value = {"X": text}
    document: dict[str, dict[str, object]] = {
        "job": {"name": "plain", "environment": {}},
        "tpu": {"cloud": "local", "accelerator": "v4-16", "zone": "here"},
        "command": {"cmd": 'printf "%s\\n" "$JOBMAN_TASK_ID" "$JOBMAN_ZONE" "${X-}"'},
    }
    document[section][key] = value
    lab.write("job.yaml", json.dumps(document))
    said = lab.run("create", "job.yaml", code=None)
    if said.code == 0:
        job = said.out.split()[0]
        lab.until_status(job, "DONE", "FAILED")
        out = lab.run("logs", job, "--worker", "0").out
        assert out.count(text) == (field in ("job.name", "tpu.zone", "job.environment")), out
    else:
        assert said.code == 2
        assert len(said.err.splitlines()) == 1


def test_no_field_of_a_task_is_read_by_a_shell(lab: Lab, canary: Path) -> None:
    text = evil(canary)
    plain = {"run": 'printf "%s\\n" "$JOBMAN_TASK_ID"', "max_retries": 1}
    tasks = [
        {"id": text, **plain},
        {"id": "workdir", "workdir": text, "repo": "r", **plain},
        {"id": "branch", "branch": text, "repo": "r", **plain},
        {"id": "url", "repo": "evil", **plain},
        {"id": "env", "env": text, **plain},
    ]
    repos = {"r": str(lab.root), "evil": text}
    document = {"repos": repos, "accelerators": {"v4-16": {"tasks": tasks}}}
    lab.write("tasks.yaml", json.dumps(document))
    lab.create(lab.job("worker", queue="tasks.yaml", accelerator="v4-16"))
    lab.until(
        "all tasks",
        lambda: {t["status"] for t in lab.json("queue")["tasks"]} <= {"DONE", "FAILED"},
    )
    done = [task["id"] for task in lab.json("queue")["tasks"] if task["status"] == "DONE"]
    assert done == [text, "env"]
    assert lab.run("logs", "--task", text).out == f"{text}\n"
