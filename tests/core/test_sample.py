"""What ``init`` writes is valid at once, says what it means, and overwrites nothing."""

import os
from pathlib import Path

import pytest

from jobman_core.app import App
from jobman_core.config.tasks import read_tasks
from jobman_core.errors import ConfigError, InvalidInputError
from jobman_core.models.sample import GREETING, Sample, usual_zone
from jobman_core.sample import texts

SLICES = [("local", "v4-8"), ("local", "v6e-64"), ("gcp", "v5litepod-16"), ("gcp", "v2-8")]


@pytest.mark.parametrize(("cloud", "accelerator"), SLICES)
@pytest.mark.parametrize("command", [None, GREETING])
async def test_whatever_is_chosen_is_valid(
    tmp_path: Path, cloud: str, accelerator: str, command: str | None
) -> None:
    choices = (
        (None, None, True),
        ("venv", "b", False),
        ("conda", None, False),
        ("docker", "b", True),
    )
    for kind, bucket, spot in choices:
        sample = Sample(
            cloud=cloud,
            accelerator=accelerator,
            zone=usual_zone(cloud, accelerator),
            spot=spot,
            command=command,
            environment=kind,
            bucket=bucket,
        )
        async with App.at(tmp_path) as app:
            paths = await app.init(tmp_path / "new", sample, force=True)
            assert [look.faults for look in await app.validate(paths)] == [()] * len(paths)


@pytest.mark.parametrize(
    "command",
    [
        "x",
        "  indented",
        "a\n\n  b: {c}\n# d",
        "",
        "tab\there",
        'say "${job.name}" \\ $HOME',
        "- [",
        "é\u2028",
    ],
)
async def test_a_command_of_any_text_is_the_command(tmp_path: Path, command: str) -> None:
    sample = Sample(command=command or " ")
    if not command:
        with pytest.raises(ConfigError, match="the script is empty"):
            await App.at(tmp_path).init(tmp_path, sample)
        return
    await App.at(tmp_path).init(tmp_path, sample)
    async with App.at(tmp_path) as app:
        plan = await app.plan(tmp_path / "job.yaml")
    expected = command.replace("${job.name}", "experiment_n")
    assert plan.steps[-1][2].rstrip("\n") == expected


@pytest.mark.parametrize("name", ["yes", "007", "null", "a: b # c", "${x}", "\u202e"])
async def test_names_of_any_kind_are_written_as_they_are_or_refused(
    tmp_path: Path, name: str
) -> None:
    try:
        await App.at(tmp_path).init(tmp_path, Sample(name=name))
    except ConfigError:
        assert os.listdir(tmp_path) == []  # noqa: PTH208 - not within a coroutine
        return
    async with App.at(tmp_path) as app:
        assert (await app.plan(tmp_path / "job.yaml")).name.startswith(f"{name}_")


async def test_nothing_is_overwritten_unless_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "tasks.yaml").symlink_to("nowhere")
    app, sample = App.at(tmp_path), Sample(command=None)
    with pytest.raises(InvalidInputError, match=r"tasks.yaml is there already: .* --force"):
        await app.init(tmp_path, sample)
    assert os.listdir(tmp_path) == ["tasks.yaml"]  # noqa: PTH208 - the same
    await app.init(tmp_path, sample, force=True)
    assert len(read_tasks(tmp_path / "tasks.yaml").tasks) == 3
    assert not (tmp_path / "nowhere").exists()


async def test_what_would_have_faults_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"new/job.yaml:\d+:\d+: tpu.cloud: .*moon"):
        await App.at(tmp_path).init(tmp_path / "new", Sample(cloud="moon"))
    assert [*(tmp_path / "new").iterdir()] == []


async def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInputError, match="name another folder"):
        await App.at(tmp_path).init(tmp_path / "file", Sample())


def test_runtime_and_size_follow_from_the_accelerator() -> None:
    (text,) = texts(Sample(cloud="gcp", accelerator="v6e-16", zone="us-east5-b")).values()
    assert "# version: v2-alpha-tpuv6e" in text
    assert "# 4 hosts, 16 chips" in text
