"""Who only looks waits for no network."""

import asyncio
import select
import socket
from pathlib import Path

import pytest

from jobman_core.app import App
from jobman_core.home import Home

JOB = """
job: {name: train, session: process, queue: {enabled: true, config: tasks.yaml}}
tpu: {cloud: gcp, project: my-project, accelerator: v4-8, zone: us-central2-b, version: x}
"""
TASKS = "accelerators: {v4-8: {tasks: [{id: baseline, run: x}]}}\n"


async def test_lists_queues_and_all_about_a_job_come_from_the_store_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "tasks.yaml").write_text(TASKS)
    async with App(Home(tmp_path), user="ada", make=True) as app:
        await app.create(tmp_path / "job.yaml", start=False)
    with socket.create_server(("127.0.0.1", 0)) as google:
        monkeypatch.setenv("TPU_EMULATOR_HOST", f"127.0.0.1:{google.getsockname()[1]}")
        async with App(Home(tmp_path), user="ada") as app:
            assert [job.id for job in await app.list()] == ["000001"]
            assert (await app.show("1")).job.id == "000001"
            assert (await app.queue(tmp_path / "tasks.yaml")).tasks
            assert (await app.overview()).jobs
            assert not select.select([google], [], [], 0)[0], "somebody asked"

            # Who does ask would have been seen.
            asking = asyncio.create_task(app.quota())
            assert (await asyncio.to_thread(select.select, [google], [], [], 30))[0]
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
