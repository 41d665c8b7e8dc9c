"""A wrong name of a job or a task is answered with the one that was probably meant."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jobman_core.app import App
from jobman_core.errors import InvalidInputError, NotFoundError, instead, nearest
from jobman_core.home import Home

JOB = """
job: {name: train, session: process}
tpu: {cloud: local, accelerator: v4-8, zone: here}
command: {cmd: "true"}
"""
TASKS = "accelerators: {v4-8: {tasks: [{id: baseline, run: x}, {id: evaluate, run: y}]}}\n"


@pytest.mark.parametrize(
    ("word", "meant"),
    [("basleine", "baseline"), ("eval", "evaluate"), ("zzz", None), ("", None)],
)
def test_half_a_word_or_a_typing_error_is_recognised(word: str, meant: str | None) -> None:
    assert nearest(word, ["baseline", "evaluate"]) == meant


def test_of_very_many_names_only_the_first_are_looked_at() -> None:
    names = (f"task-{number}" for number in range(1_000_000))
    assert nearest("tsak-17", names) == "task-17"
    assert next(names) == "task-5000"


def test_a_wrong_word_among_few_is_answered_with_the_nearest_or_with_all() -> None:
    assert instead("jobb", ["user", "job"]) == "did you mean job?"
    assert instead("zzz", ["user", "job"]) == "use one of user, job"


@pytest.fixture
async def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[App]:
    """Give a home with a job and a queue."""
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "tasks.yaml").write_text(TASKS)
    async with App(Home(tmp_path), user="ada", make=True) as app:
        await app.create(tmp_path / "job.yaml", start=False)
        yield app


@pytest.mark.parametrize("wrong", ["000002", "00010", "trian_000001", "train"])
async def test_a_wrong_job_is_answered_with_the_nearest(app: App, wrong: str) -> None:
    with pytest.raises(NotFoundError, match=rf"no job '{wrong}' .*: did you mean 000001\?"):
        await app.show(wrong)


@pytest.mark.parametrize("wrong", ["qqqq", "2", "99"])
async def test_a_job_that_is_like_no_other_is_answered_with_where_they_are(
    app: App, wrong: str
) -> None:
    with pytest.raises(NotFoundError, match=r"`jobman list` shows those there are"):
        await app.show(wrong)


async def test_a_wrong_task_is_answered_with_the_nearest(app: App, tmp_path: Path) -> None:
    file = tmp_path / "tasks.yaml"
    for ask in (app.queue_task, app.prioritize, app.mark_done):
        with pytest.raises(NotFoundError, match=r"no task 'basline' .*: did you mean baseline\?"):
            await ask(file, "basline")
    with pytest.raises(NotFoundError, match="did you mean evaluate"):
        await app.match_tasks(file, ids=["evaluat"])
    with pytest.raises(NotFoundError, match="did you mean baseline"):
        [chunk async for chunk in app.logs(task="basline", queue=file)]
    with pytest.raises(NotFoundError, match="shows all"):
        await app.queue_task(file, "qqqq")


async def test_a_wrong_kind_of_report_bill_or_schema_is_answered_with_the_nearest(app: App) -> None:
    since, until = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    with pytest.raises(InvalidInputError, match=r"'acelerator' .*: did you mean accelerator\?"):
        await app.usage(since, until, by="acelerator")
    with pytest.raises(InvalidInputError, match=r"'servce' .*: did you mean service\?"):
        await app.billing(since, until, by="servce")
    with pytest.raises(InvalidInputError, match=r"'taks': did you mean tasks\?"):
        app.schema("taks")
