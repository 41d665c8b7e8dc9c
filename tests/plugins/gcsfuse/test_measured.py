"""What buckets hold, as Cloud Monitoring has measured it."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from tests.support.objects import Bucket, serving

from jobman_core.models.storage import ObjectState
from jobman_emulator.testing import Running, running
from jobman_gcsfuse import Gcsfuse


@pytest.fixture
def buckets(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Bucket]]:
    found: dict[str, Bucket] = {}
    with serving(found) as url:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", url)
        yield found


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch, buckets: dict[str, Bucket]) -> Iterator[Running]:
    with running() as emulator:
        monkeypatch.setenv("TPU_EMULATOR_HOST", emulator.grpc)
        yield emulator


async def test_sums_come_by_class_and_state_with_the_moment_they_were_told(
    storage: Gcsfuse, buckets: dict[str, Bucket], cloud: Running
) -> None:
    buckets["data"] = Bucket()
    cloud.bucket("data", 10**13, 5, storage_class="STANDARD", age=3600)
    cloud.bucket("data", 7, 1, storage_class="STANDARD", kind="noncurrent-object", age=3600)
    cloud.bucket("data", 99, 3, storage_class="NEARLINE", kind="soft-deleted-object", age=3600)
    (size,) = await storage.sizes(["data"])
    assert (size.total().bytes, size.total().objects) == (10**13, 5)
    assert size.total(ObjectState.NONCURRENT).bytes == 7
    assert size.total(ObjectState.SOFT_DELETED).objects == 3
    assert {amount.storage_class for amount in size.amounts} == {"STANDARD", "NEARLINE"}
    assert size.as_of is not None
    age = storage.context.clock.now() - size.as_of
    assert timedelta(minutes=59) < age < timedelta(minutes=65)
    assert (size.location, size.exact, size.folders()) == ("US-CENTRAL2", False, {})


async def test_what_was_last_told_yesterday_is_found_and_a_bucket_unknown_there_is_no_error(
    storage: Gcsfuse, buckets: dict[str, Bucket], cloud: Running
) -> None:
    buckets |= {"data": Bucket(), "new": Bucket()}
    cloud.bucket("data", 8, 1, age=30 * 3600)
    data, new = await storage.sizes(["data", "new"])
    assert data.total().bytes == 8
    assert (new.as_of, new.trouble) == (None, "")


async def test_who_may_not_see_the_bucket_itself_is_told_the_sum_all_the_same(
    storage: Gcsfuse, buckets: dict[str, Bucket], cloud: Running
) -> None:
    buckets["data"] = Bucket(look=403)
    cloud.bucket("data", 8, 1)
    (size,) = await storage.sizes(["data"], project="lab")
    assert (size.total().bytes, size.location) == (8, "US-CENTRAL1")


async def test_a_missing_role_and_an_api_that_is_off_are_told_with_their_remedy(
    storage: Gcsfuse, buckets: dict[str, Bucket], cloud: Running
) -> None:
    buckets["data"] = Bucket()
    cloud.permission("monitoring.timeSeries.list", granted=False)
    (size,) = await storage.sizes(["data"])
    assert "have roles/monitoring.viewer granted on the project, or use --exact" in size.trouble
    cloud.permission("monitoring.timeSeries.list", granted=True)
    cloud.api("monitoring.googleapis.com", enabled=False)
    (size,) = await storage.sizes(["data"])
    assert "run `gcloud services enable monitoring.googleapis.com`, or use" in size.trouble


async def test_a_server_of_buckets_alone_has_no_sums(
    storage: Gcsfuse, buckets: dict[str, Bucket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TPU_EMULATOR_HOST", raising=False)
    buckets["data"] = Bucket()
    (size,) = await storage.sizes(["data"])
    assert size.trouble.endswith("has no Monitoring: use --exact")
