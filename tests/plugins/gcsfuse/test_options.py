"""What the keys of a cache come to, by the version of gcsfuse."""

import json
from pathlib import Path

import pytest

from jobman_gcsfuse.options import options

#: The cache of v3's own guide.
CACHE = {
    "dir": "/mnt/ramdisk",
    "metadata_ttl_secs": -1,
    "stat_cache_max_size_mb": -1,
    "type_cache_max_size_mb": -1,
    "file_cache_max_size_mb": 550000,
    "cache_file_for_range_read": True,
    "enable_parallel_downloads": True,
    "prefix": "sudo mkdir -p /mnt/ramdisk",
}


def by_version(cache: dict[str, object]) -> dict[str, list[str]]:
    """Give the options, by the version from which they are meant."""
    said: dict[str, list[str]] = {}
    for item in options(cache):
        if item.startswith("v"):
            said[item] = []
        else:
            said[list(said)[-1]].append(item)
    return said


def test_without_a_cache_there_is_nothing_to_tell_versions_apart_for() -> None:
    assert options({}) == ()
    assert options({"prefix": "true"}) == ()


def test_others_are_let_in_where_that_is_asked() -> None:
    assert options({}, others=True) == ("--o=allow_other",)
    assert options({"dir": "/x"}, others=True)[:2] == ("--o=allow_other", "v3.0")


def test_versions_of_today_have_a_flag_for_each_key() -> None:
    assert by_version(CACHE)["v3.0"] == [
        "--cache-dir=/mnt/ramdisk",
        "--metadata-cache-ttl-secs=-1",
        "--stat-cache-max-size-mb=-1",
        "--type-cache-max-size-mb=-1",
        "--file-cache-max-size-mb=550000",
        "--file-cache-cache-file-for-range-read=true",
        "--file-cache-enable-parallel-downloads=true",
    ]


def test_those_before_read_them_from_a_file() -> None:
    (file,) = by_version(CACHE)["v2.4"]
    assert file[0] == "@"
    assert json.loads(file[1:]) == {
        "cache-dir": "/mnt/ramdisk",
        "metadata-cache": {
            "ttl-secs": -1,
            "stat-cache-max-size-mb": -1,
            "type-cache-max-size-mb": -1,
        },
        "file-cache": {
            "max-size-mb": 550000,
            "cache-file-for-range-read": True,
            "enable-parallel-downloads": True,
        },
    }


def test_parallel_downloads_are_more_than_the_first_of_those_can_do() -> None:
    lacks = [item for item in by_version(CACHE)["v2.0"] if item.startswith("!")]
    told = "take the key out, or install a newer one on the hosts"
    assert lacks == [f"!cache.enable_parallel_downloads needs 2.4: {told}"]


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("metadata_ttl_secs", 60, ["--stat-cache-ttl=60s", "--type-cache-ttl=60s"]),
        ("metadata_ttl_secs", -1, ["--stat-cache-ttl=876000h", "--type-cache-ttl=876000h"]),
        ("stat_cache_max_size_mb", 32, ["--stat-cache-capacity=19878"]),
        ("stat_cache_max_size_mb", -1, ["--stat-cache-capacity=2147483647"]),
    ],
)
def test_the_first_versions_count_otherwise(key: str, value: int, said: list[str]) -> None:
    assert by_version({key: value})["v0.0"] == said


def test_the_first_versions_have_no_file_cache() -> None:
    lacks = by_version({"dir": "/mnt/ramdisk", "file_cache_max_size_mb": 1})["v0.0"]
    assert [item.split()[:3] for item in lacks if item.startswith("!")] == [
        ["!cache.dir", "needs", "2.0:"],
        ["!cache.file_cache_max_size_mb", "needs", "2.0:"],
    ]


def test_the_page_says_what_each_key_comes_to() -> None:
    page = Path(__file__).parents[3] / "docs/gcsfuse.md"
    rows = [line for line in page.read_text("utf-8").splitlines() if line.startswith("| `")]
    # The table by versions is the one with four columns.
    table = {row.split("`")[1]: row for row in rows if row.count(" | ") == 3}
    assert set(table) == {*CACHE} - {"prefix"}
    for key, row in table.items():
        by = by_version({key: CACHE[key]})
        new, file, old = (by[version] for version in ("v3.0", "v2.4", "v0.0"))
        (flag,), (content,) = new, file
        path = [key]
        said = json.loads(content[1:])
        while isinstance(said, dict):
            ((name, said),) = said.items()
            path.append(name)
        assert f"`{flag.partition('=')[0]}`" in row
        assert f"`{': '.join(path[1:])}`" in row
        for item in old:
            known = "refused" if item.startswith("!") else f"`{item.partition('=')[0]}`"
            assert known in row
