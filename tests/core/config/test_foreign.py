"""Files of front ends: read as job files are, with faults like theirs."""

from collections.abc import Iterator, Mapping
from datetime import time
from pathlib import Path
from typing import Self
from zoneinfo import ZoneInfo

import attrs
import pytest

from jobman_core.app import Duration, read_config
from jobman_core.errors import ConfigError


class Colour(str):
    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        if text not in ("red", "blue"):
            msg = f"{text!r} is no colour"
            raise ValueError(msg)
        return cls(text)


@attrs.frozen
class Shape:
    every: Duration
    at: time = time(9)
    zone: ZoneInfo | None = None
    paint: Mapping[Colour, Colour] = attrs.field(factory=dict)
    names: tuple[str, ...] = ()


def check(shape: Shape) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for index, name in enumerate(shape.names):
        if name in shape.names[:index]:
            yield ("names", index), f"{name} comes twice"


def read(path: Path, text: str) -> Shape:
    (path / "front.yaml").write_text(text)
    return read_config(path / "front.yaml", Shape, check)


def faults(path: Path, text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(path, text)
    return [str(fault).rpartition("front.yaml:")[2] for fault in caught.value.faults]


def test_values_are_what_the_shape_says(tmp_path: Path) -> None:
    found = read(
        tmp_path, "every: 10m\nat: 7:05\nzone: Europe/Paris\npaint: {red: blue}\nnames: [a, 007]\n"
    )
    assert found == Shape(
        Duration(600.0),
        time(7, 5),
        ZoneInfo("Europe/Paris"),
        {Colour("red"): Colour("blue")},
        ("a", "007"),
    )
    ((key, value),) = found.paint.items()
    assert (type(key), type(value)) == (Colour, Colour)


def test_keys_and_values_of_a_map_are_told_together(tmp_path: Path) -> None:
    assert faults(tmp_path, "every: 1\npaint: {green: blue, red: pink}\n") == [
        "2:16: paint.green: 'green' is no colour",
        "2:27: paint.red: 'pink' is no colour",
    ]


@pytest.mark.parametrize("when", ["24:00", "9", "09:60", "9:5", "now", "-1:00"])
def test_what_is_no_time_of_day_is_told(tmp_path: Path, when: str) -> None:
    (fault,) = faults(tmp_path, f"every: 1\nat: {when}\n")
    assert fault == f"2:5: at: {when!r} is no time of day: write one like 09:00"


def test_what_is_wrong_as_a_whole_has_its_place(tmp_path: Path) -> None:
    assert faults(tmp_path, "every: 1\nnames: [a, b, a]\n") == ["2:15: names[2]: a comes twice"]


def test_a_missing_key_is_told(tmp_path: Path) -> None:
    assert faults(tmp_path, "names: []\n") == [
        "1:1: every: it is missing: write `every:` with its value"
    ]
