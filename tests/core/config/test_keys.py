"""Every key of every file has a text, where it is declared."""

from pathlib import Path

import pytest

from jobman_core.app import App
from jobman_core.config import kinds, schema, structure
from jobman_core.models.key import Key

FILES = ("job", "tasks", "settings")


def keys(file: str, home: Path) -> dict[str, Key]:
    return {key.path: key for key in App.at(home).keys(file)}


@pytest.mark.parametrize("file", FILES)
def test_every_key_says_what_it_is_for_and_what_it_may_be(file: str, tmp_path: Path) -> None:
    bare = [key.path for key in keys(file, tmp_path).values() if not (key.text and key.type)]
    of_backends = [path for path in bare if path.count(".") == 1 and file == "settings"]
    assert bare == of_backends


def test_a_key_is_told_with_its_type_its_default_and_its_text(tmp_path: Path) -> None:
    assert keys("job", tmp_path)["job.queue.prefix[].required"] == Key(
        path="job.queue.prefix[].required",
        type="true or false",
        default=False,
        required=False,
        text="A failure ends the job as `PREFIX_FAIL`; else it is told and passed over.",
        plugin=None,
    )


@pytest.mark.parametrize(
    ("path", "default"),
    [
        ("job.loop", False),
        ("job.unreachable_timeout", "10m"),
        ("job.prefix[].workers", [0]),
        ("command.workers", "all"),
        ("tpu.pricing", "ondemand"),
    ],
)
def test_a_default_is_shown_as_a_file_says_it(tmp_path: Path, path: str, default: object) -> None:
    assert keys("job", tmp_path)[path].default == default


def test_keys_of_plugins_are_among_them_with_what_brings_them(tmp_path: Path) -> None:
    job, settings = keys("job", tmp_path), keys("settings", tmp_path)
    assert job["conda.installer_url"].plugin == "jobman-conda"
    assert settings["notifiers.email.sender"].plugin == "jobman-notify-email"
    assert job["ssh.port"].plugin is None


def test_a_key_that_an_environment_needs_is_required(tmp_path: Path) -> None:
    found = keys("job", tmp_path)
    assert {path for path, key in found.items() if key.required} >= {"venv.name", "docker.image"}


def test_tasks_files_have_their_keys_at_all_levels(tmp_path: Path) -> None:
    found = keys("tasks", tmp_path)
    assert {"defaults.max_jobs", "accelerators.*.max_jobs", "accelerators.*.tasks[].max_jobs"} < {
        *found
    }


def test_whatever_is_read_has_a_description_of_its_values() -> None:
    sections = {*kinds.KINDS, *schema.COMPOUND}
    assert {*structure.READERS} - sections == set()
