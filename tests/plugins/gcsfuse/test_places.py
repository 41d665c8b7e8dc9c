"""Where a bucket is, and whether hosts are near it."""

import pytest

from jobman_gcsfuse.places import Location, region_of


@pytest.mark.parametrize(
    ("bucket", "near", "far"),
    [
        (Location("US-CENTRAL2"), ["us-central2"], ["us-central1", "europe-west4"]),
        (Location("us-east1"), ["us-east1"], ["us-east5"]),
        (Location("NORTHAMERICA-NORTHEAST1"), ["northamerica-northeast1"], ["us-east1"]),
        (Location("US"), ["us-central2", "us-south1"], ["northamerica-northeast1", "asia-east1"]),
        (Location("EU"), ["europe-west4"], ["europe-west2", "europe-west6", "us-east1"]),
        (Location("ASIA"), ["asia-northeast1"], ["australia-southeast1", "us-west1"]),
        (Location("NAM4"), ["us-central1", "us-east1"], ["us-central2", "us-east5"]),
        (Location("EUR4"), ["europe-north1", "europe-west4"], ["europe-west1"]),
        (Location("ASIA1"), ["asia-northeast1"], ["asia-east1"]),
        (
            Location("US", ("US-CENTRAL1", "US-SOUTH1")),
            ["us-central1", "us-south1"],
            ["us-east1", "us-central2"],
        ),
        (Location("US-EAST5", ("us-east5-a",)), ["us-east5"], ["us-east1"]),
    ],
    ids=str,
)
def test_regions_dual_regions_and_multi_regions_hold_what_google_says(
    bucket: Location, near: list[str], far: list[str]
) -> None:
    assert {region: bucket.holds(region) for region in (*near, *far)} == {
        **dict.fromkeys(near, True),
        **dict.fromkeys(far, False),
    }


def test_nobody_knows_what_a_place_holds_that_is_new() -> None:
    assert Location("MARS9X").holds("us-east1") is None


def test_a_place_is_named_with_the_regions_that_it_is_made_of() -> None:
    assert str(Location("US-EAST1")) == "us-east1"
    assert str(Location("NAM4")) == "NAM4 (us-central1, us-east1)"
    assert str(Location("EU")) == "EU"
    assert str(Location("US", ("US-EAST4", "US-WEST1"))) == "US (us-east4, us-west1)"


def test_a_zone_has_its_region_and_other_words_have_none() -> None:
    assert region_of("us-central2-b") == "us-central2"
    assert region_of("here") is None
