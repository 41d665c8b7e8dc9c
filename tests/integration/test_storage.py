"""``jobman storage`` against a server of buckets, as a person runs it."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.lab import Lab
from tests.support.objects import Bucket, many, serving

pytestmark = pytest.mark.e2e


@pytest.fixture
def buckets() -> dict[str, Bucket]:
    return {}


@pytest.fixture
def lab(tmp_path: Path, buckets: dict[str, Bucket]) -> Iterator[Lab]:
    lab = Lab(tmp_path / "lab")
    (lab.root / "jobs/.jobman").mkdir(parents=True)
    with serving(buckets) as url:
        lab.env |= {"STORAGE_EMULATOR_HOST": url, "GOOGLE_CLOUD_PROJECT": "lab"}
        lab.env.pop("TPU_EMULATOR_HOST", None)
        yield lab


def test_ctrl_c_ends_a_count_at_once_with_what_was_counted(
    lab: Lab, buckets: dict[str, Bucket]
) -> None:
    # Of ten objects a page it takes far longer than anybody waits.
    buckets["data"] = Bucket(many(300_000), page=10)
    process = lab.start("storage", "data", "--exact", "--json")
    lab.until("its count is under way", lambda: buckets["data"].pages > 30 or None)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    (size,) = json.loads(out)
    assert size["partial"]
    assert 0 < size["objects"] < 300_000
    assert err == "this is what was counted until you broke it off\n"


def test_all_buckets_of_the_project_are_counted_and_one_that_is_closed_is_told(
    lab: Lab, buckets: dict[str, Bucket]
) -> None:
    buckets |= {"data": Bucket(many(2000)), "closed": Bucket(look=403, listing=403)}
    said = lab.run("storage", "--exact", code=1)
    assert "2,000" in said.out
    assert "you may not list gs://closed: have roles/storage.objectViewer granted" in said.err
