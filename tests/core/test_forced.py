"""Preparing hosts anew on demand, where a host does not answer."""

from pathlib import Path

import pytest
from tests.core.test_solve import World

from jobman_core.errors import HostUnreachableError


async def test_a_job_that_could_not_be_prepared_anew_says_that_it_stands_still_and_costs(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    async with world.app() as app:
        job = await world.done(app)
        world.hosts[1].away = "no route"
        with pytest.raises(HostUnreachableError, match="host 1 cannot be reached") as refused:
            await app.reboot(job, force=True)
        assert f"`jobman resume {job}`" in str(refused.value)
        assert "costs" in str(refused.value)
