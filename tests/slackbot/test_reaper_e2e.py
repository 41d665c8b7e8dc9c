"""What the real bot does about dead slices, at an emulated cloud."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.support.bots import BotLab

from jobman_emulator.server import Emulator
from jobman_gcp.account import EMULATOR, Account
from jobman_gcp.client import Client
from jobman_gcp.requests import Ask

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

ZONE = "us-central2-b"


@pytest.fixture
async def emulator(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Emulator]:
    async with Emulator(provisioning=0.1, deleting=0.05, suspending=0.05) as running:
        monkeypatch.setenv(EMULATOR, running.grpc)
        yield running


def states(emulator: Emulator) -> dict[str, str]:
    """Give the state of each node by its name."""
    return {k.rpartition("/")[2]: v for k, v in emulator.control.resources().items()}


async def add(bots: BotLab, emulator: Emulator, name: str, state: str, home: str | None) -> None:
    """Let a node be at the cloud, of a home or of nobody."""
    labels = {"jobman-home": home, "jobman-owner": "ada", "jobman-generation": "1"} if home else {}
    kind = {"accelerator_type": "v4-16", "runtime_version": "tpu-ubuntu2204-base"}
    client = Client((await Account.find()).channel())
    await client.create(Ask("emulated", ZONE, name, queued=False, body={**kind, "labels": labels}))
    await bots.until(lambda: states(emulator).get(name) == "READY", f"{name} is ready")
    await client.aclose()
    if state != "READY":
        await emulator.control.set_state(name, state)


async def again(bots: BotLab, **settings: str) -> None:
    """Start the bot anew with other settings: it looks at once."""
    await bots.stop()
    bots.configure(**settings)
    await bots.start()


async def test_dead_slices_are_told_of_in_a_dry_run_and_then_deleted(
    bots: BotLab, emulator: Emulator
) -> None:
    bots.lab.env[EMULATOR] = emulator.grpc
    bots.lab.write("jobman.yaml", f"session: process\nreap: {{places: [{ZONE}], grace: 1s}}\n")
    async with bots.app("ada") as app:
        home = await (await app._ready()).store.home_id()
    await add(bots, emulator, "ours-dead", "PREEMPTED", home)
    await add(bots, emulator, "nobodys-dead", "PREEMPTED", None)
    await add(bots, emulator, "theirs-dead", "PREEMPTED", "0" * 8)
    await add(bots, emulator, "nobodys-alive", "READY", None)

    bots.configure(reap="dry-run")
    await bots.start()
    async with asyncio.timeout(120):
        # A thing is dead when it was seen so twice, the grace apart.
        while "Dry run" not in "\n".join(bots.told()):
            await asyncio.sleep(5)
            await again(bots, reap="dry-run")
    said = bots.told()
    assert "ours-dead" in "\n".join(said)
    assert "nobodys-alive" not in "\n".join(said)
    assert len(states(emulator)) == 4
    await again(bots, reap="delete")
    await bots.until(lambda: "ours-dead" not in states(emulator), "it is deleted")
    await bots.until(lambda: len(bots.told()) > len(said), "the channel hears of it")
    assert set(states(emulator)) == {"nobodys-dead", "theirs-dead", "nobodys-alive"}
    assert "\n".join(bots.told()).count("Dry run") == 1
    await again(bots, reap="all")
    await bots.until(lambda: "nobodys-dead" not in states(emulator), "all that is dead goes")
    assert "nobodys-alive" in states(emulator)
