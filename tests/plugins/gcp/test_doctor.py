"""``doctor`` against Google's APIs, as the emulator has them: each with something missing."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from google.auth.exceptions import RefreshError, TransportError
from tests.plugins.gcp.conftest import MakeCloud

from jobman_core.interfaces.backend import Context, Scope
from jobman_core.models.checkup import Checkup, Health
from jobman_core.models.job import HoldMode, JobSpec
from jobman_core.models.slice import SliceRequest
from jobman_core.testing.fakes import FakeClock
from jobman_emulator.server import Emulator
from jobman_gcp import GcpCloud
from jobman_gcp.account import EMULATED_COMPUTE, EMULATOR, Account
from jobman_gcp.credentials import tried

Examined = Callable[..., Awaitable[Mapping[str, Checkup]]]
#: A job's place, type and runtime, which the emulator has.
PLACE = ("us-central2-b", "v4-8", "tpu-ubuntu2204-base")


def spec_of(zone: str, accelerator: str, runtime: str) -> JobSpec:
    return JobSpec("a", "a", HoldMode(), (SliceRequest("gcp", accelerator, zone, runtime=runtime),))


@pytest.fixture
def examined(
    make_cloud: MakeCloud, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> Examined:
    """Look at an account; gives what was found, the worst of each name."""
    monkeypatch.setenv(EMULATED_COMPUTE, emulator.env(None)[EMULATED_COMPUTE])

    async def examine(**scope: object) -> Mapping[str, Checkup]:
        found = await make_cloud().checkups(Scope(**{"wanted": True, "project": "lab", **scope}))  # type: ignore[arg-type]
        order = [Health.WELL, Health.UNKNOWN, Health.DOUBT, Health.BROKEN]
        return {each.name: each for each in sorted(found, key=lambda c: order.index(c.health))}

    return examine


async def test_where_all_is_there_all_is_well(examined: Examined) -> None:
    found = await examined(specs=(spec_of(*PLACE),))
    assert {name: each.health for name, each in found.items()} == dict.fromkeys(
        ("credentials", "clock", "project", "quota", "us-central2-b", "APIs", "rights", "OS Login"),
        Health.WELL,
    )


async def test_an_api_that_is_not_enabled_is_told_with_the_command_that_enables_it(
    examined: Examined, emulator: Emulator
) -> None:
    await emulator.control.api("cloudquotas.googleapis.com", enabled=False)
    found = await examined()
    assert found["APIs"].health is Health.DOUBT
    assert "gcloud services enable cloudquotas.googleapis.com" in found["APIs"].remedy
    assert found["quota"].health is Health.UNKNOWN
    await emulator.control.api("tpu.googleapis.com", enabled=False)
    found = await examined()
    assert found["APIs"].health is Health.BROKEN


async def test_a_permission_that_is_denied_is_told_with_its_role(
    examined: Examined, emulator: Emulator
) -> None:
    await emulator.control.permission("tpu.nodes.create", granted=False)
    found = (await examined())["rights"]
    assert (found.health, "roles/tpu.admin" in found.remedy) == (Health.BROKEN, True)


async def test_os_login_is_told_of(examined: Examined, emulator: Emulator) -> None:
    await emulator.control.os_login(True)
    assert (await examined())["OS Login"].health is Health.DOUBT


@pytest.mark.parametrize("wrong", [0, 1, 2])
async def test_what_a_job_file_names_and_a_zone_has_not_is_broken(
    examined: Examined, wrong: int
) -> None:
    place = [*PLACE]
    place[wrong] = ("us-nowhere1-a", "v9-8", "tpu-nothing")[wrong]
    found = await examined(specs=(spec_of(*place),))
    assert found[place[0]].health is Health.BROKEN


async def test_what_is_not_known_is_not_called_broken(
    examined: Examined, emulator: Emulator
) -> None:
    for call in ("BatchGetServices", "TestIamPermissions", "GetComputeProject", "ListLocations"):
        await emulator.control.fail_next(call, code="UNAVAILABLE")
    found = await examined()
    for name in ("APIs", "rights", "OS Login", "project"):
        assert found[name].health is Health.UNKNOWN, found[name]


async def test_a_clock_that_is_off_is_told(
    examined: Examined, tmp_path: Path, emulator: Emulator
) -> None:
    del examined
    clock = FakeClock(start=datetime.now(UTC) + timedelta(minutes=10))
    cloud = GcpCloud(Context(tmp_path, "home-1", clock, {"project": "lab"}))
    try:
        found = {each.name: each for each in await cloud.checkups(Scope())}
    finally:
        await cloud.aclose()
    assert (found["clock"].health, "ahead" in found["clock"].text) == (Health.BROKEN, True)


async def test_an_emulator_that_is_away_is_unknown(
    examined: Examined, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(EMULATOR, "127.0.0.1:1")
    assert (await examined())["project"].health is Health.UNKNOWN


async def test_offline_nobody_is_asked_and_a_file_that_is_named_has_to_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud = GcpCloud(Context(tmp_path, "home-1", FakeClock(), {}))
    monkeypatch.delenv(EMULATOR, raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    (found,) = await cloud.checkups(Scope(offline=True))
    assert (found.health, "application-default login" in found.remedy) == (Health.UNKNOWN, True)
    (tmp_path / "application_default_credentials.json").write_text("{}")
    (found,) = await cloud.checkups(Scope(offline=True))
    assert (found.health, found.remedy) == (Health.UNKNOWN, "")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "gone.json"))
    (found,) = await cloud.checkups(Scope(offline=True))
    assert found.health is Health.BROKEN


async def test_credentials_that_cannot_be_read_are_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(EMULATOR, raising=False)
    (tmp_path / "bad.json").write_text("{}")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "bad.json"))
    cloud = GcpCloud(Context(tmp_path, "home-1", FakeClock(), {}))
    (found,) = await cloud.checkups(Scope())
    assert (found.name, found.health) == ("credentials", Health.BROKEN)


class Worn:
    """Credentials that Google renews, or does not."""

    service_account_email = "jobman@lab.iam.gserviceaccount.com"

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    def refresh(self, _request: object) -> None:
        if self._error:
            raise self._error


@pytest.mark.parametrize(
    ("error", "health"),
    [
        (None, Health.WELL),
        (RefreshError("invalid_grant"), Health.BROKEN),  # type: ignore[no-untyped-call]
        (TransportError("no route"), Health.UNKNOWN),  # type: ignore[no-untyped-call]
    ],
)
async def test_credentials_are_tried_and_named(error: Exception | None, health: Health) -> None:
    found = await tried(Account("lab", Worn(error)))
    assert (found.health, Worn.service_account_email in found.text) == (health, True)
    assert ("application-default login" in found.remedy) is (health is Health.BROKEN)


def test_who_gives_up_does_not_wait_for_credentials_that_get_no_answer() -> None:
    let_go, ended = threading.Event(), []

    class Hanging(Worn):
        def refresh(self, _request: object) -> None:
            let_go.wait(20)
            ended.append("late")

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(tried(Account("lab", Hanging())), 0.1)

    asyncio.run(give_up())
    assert ended == []
    let_go.set()
