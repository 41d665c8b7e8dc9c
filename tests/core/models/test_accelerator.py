"""Names of TPU types: how many hosts, cores and chips a slice has, and its usual runtime."""

import pytest

from jobman_core.models.accelerator import FAMILIES, Accelerator

BASE, V5P = "tpu-ubuntu2204-base", "v2-alpha-tpuv5"
V5E, V6E = "v2-alpha-tpuv5-lite", "v2-alpha-tpuv6e"


@pytest.mark.parametrize(
    ("name", "hosts", "cores", "chips", "runtime"),
    [
        ("v2-8", 1, 8, 4, BASE),
        ("v2-512", 64, 512, 256, BASE),
        ("v3-8", 1, 8, 4, BASE),
        ("v3-32", 4, 32, 16, BASE),
        ("v3-2048", 256, 2048, 1024, BASE),
        ("v4-8", 1, 8, 4, BASE),
        ("v4-16", 2, 16, 8, BASE),
        ("v4-32", 4, 32, 16, BASE),
        ("v4-4096", 512, 4096, 2048, BASE),
        ("v5p-8", 1, 8, 4, V5P),
        ("v5p-16", 2, 16, 8, V5P),
        ("v5p-12288", 1536, 12288, 6144, V5P),
        ("v5litepod-1", 1, 1, 1, V5E),
        ("v5litepod-4", 1, 4, 4, V5E),
        ("v5litepod-8", 1, 8, 8, V5E),
        ("v5litepod-16", 4, 16, 16, V5E),
        ("v5litepod-256", 64, 256, 256, V5E),
        ("v6e-1", 1, 1, 1, V6E),
        ("v6e-4", 1, 4, 4, V6E),
        ("v6e-8", 1, 8, 8, V6E),
        ("v6e-16", 4, 16, 16, V6E),
        ("v6e-64", 16, 64, 64, V6E),
        ("v6e-256", 64, 256, 256, V6E),
    ],
)
def test_a_name_says_what_a_slice_has(
    name: str, hosts: int, cores: int, chips: int, runtime: str
) -> None:
    read = Accelerator.parse(name)
    assert (read.hosts, read.cores, read.chips, read.runtime) == (hosts, cores, chips, runtime)
    assert read.name == name


def test_v5e_is_another_name_of_v5litepod() -> None:
    assert Accelerator.parse("v5e-16") == Accelerator.parse("v5litepod-16")
    assert Accelerator.parse("v5e-16").name == "v5litepod-16"


@pytest.mark.parametrize(
    "name",
    ["v9-8", "v5-8", "v5lite-8", "h100-8", "v4", "v4-", "v4-0", "V4-8", "v4-08", "v4-8 ", ""],
)
def test_an_unknown_name_is_refused_with_those_that_there_are(name: str) -> None:
    with pytest.raises(ValueError, match="unknown accelerator") as refusal:
        Accelerator.parse(name)
    assert repr(name) in str(refusal.value)
    for family in (*FAMILIES, "v5e"):
        assert f"{family}-N" in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("v4-4", "multiples of 8"),
        ("v3-12", "multiples of 8"),
        ("v5p-1", "multiples of 8"),
        ("v5litepod-2", "1, 4, 8 and multiples of 4 from 16"),
        ("v6e-12", "1, 4, 8 and multiples of 4 from 16"),
        ("v6e-18", "1, 4, 8 and multiples of 4 from 16"),
    ],
)
def test_a_size_that_a_family_does_not_have_is_refused_with_those_it_has(
    name: str, sizes: str
) -> None:
    with pytest.raises(ValueError, match="unknown accelerator") as refusal:
        Accelerator.parse(name)
    assert sizes in str(refusal.value)
