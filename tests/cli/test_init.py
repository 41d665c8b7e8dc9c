"""``init``: what it asks, and what it takes where nobody answers."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from jobman_core.models.sample import GREETING, Sample

if TYPE_CHECKING:
    from tests.cli.conftest import Cli, FakeApp


def asked(app: "FakeApp") -> Sample:
    """Give the sample that the core was asked for last."""
    name, _, sample, _ = app.calls[-1]
    assert name == "init"
    assert isinstance(sample, Sample)
    return sample


def test_without_a_terminal_it_writes_a_job_for_this_machine(cli: "Cli", app: "FakeApp") -> None:
    code, out, err = cli("init")
    assert (code, out) == (0, "/here/job.yaml\n")
    assert "`jobman create job.yaml`" in err
    assert asked(app) == Sample()


def test_on_a_terminal_it_asks_for_what_no_option_says(cli: "Cli", app: "FakeApp") -> None:
    answers = "gcp\nv6e-64\n\nno\nqueue\nvenv\nmy-bucket\n"
    code, _, err = cli("init", "lab", "--name", "mnist", tty=True, answer=answers)
    assert code == 0
    assert err.count("?") == 7
    assert asked(app) == Sample(
        name="mnist",
        cloud="gcp",
        accelerator="v6e-64",
        zone="us-central1-b",
        spot=False,
        command=None,
        environment="venv",
        bucket="my-bucket",
    )
    assert app.calls[-1][1] == Path("lab")


def test_no_answer_is_the_usual_one_and_a_wrong_one_is_asked_for_again(
    cli: "Cli", app: "FakeApp"
) -> None:
    code, _, err = cli("init", tty=True, answer="\nv4-9\nv4-16\nboth\n\n")
    assert code == 0
    assert "unknown accelerator 'v4-9': v4 comes in multiples of 8" in err
    assert "write one of command, queue" in err
    assert asked(app) == Sample(accelerator="v4-16")


def test_with_yes_nothing_is_asked(cli: "Cli", app: "FakeApp") -> None:
    said = cli("init", "--yes", "--spot", tty=True)
    assert said.code == 0
    assert "?" not in said.err
    assert asked(app) == Sample(cloud="gcp", accelerator="v6e-8", zone="us-central1-b", spot=True)


def test_options_say_all_of_it(cli: "Cli", app: "FakeApp") -> None:
    words = "--cloud gcp --accelerator v4-8 --zone z --on-demand --env none --bucket none"
    cli("init", *words.split(), "--command", "python train.py", "--force", tty=True)
    assert asked(app) == Sample(cloud="gcp", zone="z", command="python train.py")
    assert app.calls[-1][-1] is True


def test_as_json_it_gives_the_files(cli: "Cli") -> None:
    code, out, _ = cli("init", "--queue", "--json")
    assert (code, json.loads(out)) == (0, ["/here/worker.yaml", "/here/tasks.yaml"])


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["--queue", "--command", "x"], "--queue and --command at once: give one of them"),
        (["--accelerator", "v4-9"], "unknown accelerator 'v4-9': v4 comes in multiples of 8"),
    ],
)
def test_what_cannot_be_is_one_line_and_2(cli: "Cli", argv: list[str], line: str) -> None:
    assert cli("init", *argv) == (2, "", f"error: {line}\n")


def test_the_usual_command_greets_from_every_host() -> None:
    assert "$JOBMAN_WORKER_ID" in GREETING
