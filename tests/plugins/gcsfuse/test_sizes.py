"""What buckets hold, counted by listing them."""

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.objects import Blob, Bucket, many, serving

from jobman_core.errors import PermanentCloudError
from jobman_core.models.storage import BucketSize, ObjectState
from jobman_gcsfuse import Gcsfuse
from jobman_gcsfuse.counting import AT_ONCE
from jobman_gcsfuse.keys import ahead


@pytest.fixture
def buckets(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Bucket]]:
    """Give buckets that are served; none is there before a test puts it in."""
    found: dict[str, Bucket] = {}
    with serving(found) as url:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", url)
        monkeypatch.delenv("TPU_EMULATOR_HOST", raising=False)
        yield found


async def count(storage: Gcsfuse, bucket: str = "data") -> BucketSize:
    (size,) = await storage.sizes([bucket], exact=True)
    return size


async def test_every_object_is_counted_once_by_top_level_folder(
    storage: Gcsfuse, buckets: dict[str, Bucket]
) -> None:
    blobs = many(5000)
    buckets["data"] = Bucket([*blobs, Blob("readme", 7), Blob("/odd", 9)], page=50)
    size = await count(storage)
    assert (size.exact, size.partial, size.trouble) == (True, False, "")
    assert (size.total().objects, size.total().bytes) == (5002, sum(b.size for b in blobs) + 16)
    folders = {name: sum(a.objects for a in found) for name, found in size.folders().items()}
    assert folders["shards/"] == 2500
    assert folders["checkpoints/"] == 250
    assert (folders[""], folders["/"]) == (1, 1)
    assert next(iter(folders)) == "shards/"
    assert size.location == "US-CENTRAL2"


async def test_one_flat_folder_is_listed_in_many_parts_at_once(
    storage: Gcsfuse, buckets: dict[str, Bucket]
) -> None:
    buckets["data"] = Bucket([Blob(f"shards/part-{at:06d}") for at in range(20_000)], page=100)
    assert (await count(storage)).total().objects == 20_000
    assert len(buckets["data"].starts) >= AT_ONCE / 2
    # What is asked for besides the pages that there are is little.
    assert buckets["data"].pages < 2 * 20_000 / 100


async def test_older_versions_and_what_was_deleted_are_told_apart(
    storage: Gcsfuse, buckets: dict[str, Bucket]
) -> None:
    # Versions of one name come on several pages.
    versions = [Blob("model.bin", 100, old=True)] * 5
    deleted = [Blob("gone/x", 1000, "NEARLINE", deleted=True)]
    buckets["data"] = Bucket([*versions, Blob("model.bin", 10), *deleted], 2, keeps_deleted=True)
    size = await count(storage)
    assert size.total().bytes == 10
    old = size.total(ObjectState.NONCURRENT)
    assert (old.objects, old.bytes) == (5, 500)
    assert size.total(ObjectState.SOFT_DELETED).bytes == 1000
    assert size.folders()["gone/"][0].storage_class == "NEARLINE"


async def test_who_may_not_list_is_told_the_role_and_sees_the_others(
    storage: Gcsfuse, buckets: dict[str, Bucket]
) -> None:
    buckets |= {"closed": Bucket(look=403, listing=403), "open": Bucket([Blob("a")])}
    closed, opened = await storage.sizes(["closed", "open"], exact=True)
    assert "roles/storage.objectViewer" in closed.trouble
    assert "gs://closed" in closed.trouble
    assert closed.as_of is None
    assert (opened.total().objects, opened.trouble) == (1, "")


async def test_who_may_list_and_not_look_at_the_bucket_gets_a_count(
    storage: Gcsfuse, buckets: dict[str, Bucket]
) -> None:
    buckets["data"] = Bucket([Blob("a"), Blob("b", deleted=True)], look=403)
    size = await count(storage)
    assert (size.total().objects, size.trouble) == (1, "")


@pytest.mark.parametrize("name", ["Data!", "data/folder", ""])
async def test_what_is_no_name_of_a_bucket_is_not_asked_for(
    storage: Gcsfuse, buckets: dict[str, Bucket], name: str
) -> None:
    size = await count(storage, name)
    assert "is no name of a bucket" in size.trouble


async def test_a_bucket_may_be_written_as_a_url_and_is_counted_once(
    storage: Gcsfuse, buckets: dict[str, Bucket]
) -> None:
    buckets["data"] = Bucket([Blob("a")])
    (size,) = await storage.sizes(["gs://data/", "data"], exact=True)
    assert (size.bucket, size.total().objects) == ("data", 1)


async def test_a_bucket_that_is_not_there_is_said_so(
    storage: Gcsfuse, buckets: dict[str, Bucket]
) -> None:
    for exact in (True, False):
        (size,) = await storage.sizes(["nowhere"], exact=exact)
        assert size.trouble == "there is no bucket gs://nowhere: check its name"


async def test_a_count_that_breaks_off_says_so_and_keeps_what_it_has(
    storage: Gcsfuse, buckets: dict[str, Bucket]
) -> None:
    blobs = [Blob(f"{at:05d}") for at in range(3000)]
    buckets["data"] = Bucket(blobs, page=100, breaks_at=4)
    size = await count(storage)
    assert size.partial
    assert 0 < size.total().objects < 3000
    assert "not all of gs://data was counted" in size.trouble


async def test_who_breaks_it_off_has_heard_what_was_known(
    storage: Gcsfuse, buckets: dict[str, Bucket]
) -> None:
    buckets["data"] = Bucket([Blob(f"{at:05d}") for at in range(50_000)], page=10)
    heard: list[BucketSize] = []

    def tell(size: BucketSize) -> None:
        heard.append(size)
        task.cancel()

    task = asyncio.create_task(storage.sizes(["data"], exact=True, tell=tell))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(heard) == 2
    assert heard[-1].partial
    assert heard[-1].storage == "gcsfuse"


async def test_all_buckets_of_a_project_are_found(
    storage: Gcsfuse, buckets: dict[str, Bucket]
) -> None:
    buckets |= {"b": Bucket(), "a": Bucket()}
    assert await storage.buckets("lab") == ["a", "b"]
    with pytest.raises(PermanentCloudError, match=r"project forbidden: have roles/\S+ granted"):
        await storage.buckets("forbidden")


async def test_folders_without_end_are_added_up_beyond_the_first_ten_thousand(
    storage: Gcsfuse, buckets: dict[str, Bucket]
) -> None:
    buckets["data"] = Bucket([Blob(f"{at:05d}/x") for at in range(10_500)])
    size = await count(storage)
    assert len(size.folders()) == 10_000
    assert size.total().objects == 10_500


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


@given(st.lists(NAMES, min_size=3, max_size=20, unique=True), st.booleans())
def test_a_cut_lies_behind_the_page_and_before_the_end(names: list[str], open_end: bool) -> None:
    first, *_, last, end = sorted(names)
    alphabet = "".join(sorted(set("".join(names))))
    cut = ahead(first, last, None if open_end else end, alphabet)
    assert cut is None or last < cut
    assert cut is None or open_end or cut < end


def test_a_cut_is_made_some_pages_ahead_in_what_is_numbered() -> None:
    digits = "-0123456789aprt"
    cut = ahead("part-0100", "part-0199", None, digits)
    assert cut is not None
    assert "part-0500" < cut < "part-1200"
    assert ahead("part-0100", "part-0199", "part-0300", digits) is None
