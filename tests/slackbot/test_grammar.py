"""What people write behind /jobman."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobman_core.errors import InvalidInputError
from jobman_slackbot import grammar
from jobman_slackbot.commands.table import CHANGES, PAGES, TABLE
from jobman_slackbot.grammar import Arguments


def read(text: str) -> tuple[str, Arguments]:
    first, *rest = grammar.words_of(text)
    word = grammar.find(first, TABLE)
    return word, grammar.arguments(TABLE[word], rest)


def refused(text: str) -> str:
    with pytest.raises(InvalidInputError) as caught:
        read(text)
    return str(caught.value)


@pytest.mark.parametrize("row", TABLE.values(), ids=list(TABLE))
def test_the_example_of_every_command_is_read_as_that_command(row: object) -> None:
    word = getattr(row, "word", "")
    assert read(TABLE[word].example)[0] == word


def test_words_are_put_into_the_places_that_they_fit() -> None:
    assert read("usage me week")[1] == Arguments({"whose": ("me",), "span": ("week",)})
    assert read("logs 12 50")[1] == Arguments({"ID|TASK": ("12",), "lines": ("50",)})
    assert read("logs sweep-7")[1].one("lines") is None
    assert read("stop 1 2 1")[1].all("ID") == ("1", "2")
    assert read("done sweep other.yaml")[1].one("queue") == "other.yaml"


def test_case_and_marks_that_people_paste_do_not_matter() -> None:
    assert read("LIST Mine")[1].one("which") == "mine"
    assert read("show `000012`")[1].one("ID") == "000012"
    assert read("reset “a task”")[1].one("TASK") == "a task"
    assert read("reset a&lt;b&amp;gt;")[1].one("TASK") == "a<b&gt;"
    for quoted in ("'a task'", "‘a task’", "’a task’"):  # noqa: RUF001 - as phones write them
        assert read(f"reset {quoted}")[1].one("TASK") == "a task"
    assert read("reset it's bob's.yaml")[1].all("TASK") == ("it's",)


def test_what_cannot_be_seen_around_a_word_does_not_matter() -> None:
    for unseen in ("\ufeff", "\u200b", "\u200f", "\u00a0", "\u2068"):
        assert read(f"{unseen}list{unseen} {unseen}mine{unseen}")[1].one("which") == "mine"
        assert read(f"stop 12{unseen} {unseen}13")[1].all("ID") == ("12", "13")
    assert grammar.words_of("\u200b\u200b") == []


def test_what_is_misspelt_is_guessed() -> None:
    assert "did you mean `delete`?" in refused("delte 12")
    assert "did you mean `queue`?" in refused("que")
    assert "did you mean `week`?" in refused("usage wek")
    assert "`/jobman help`" in refused("xyzzy")


def test_what_is_missing_or_too_much_is_told_with_the_way_to_write_it() -> None:
    assert refused("stop") == "stop needs ID…: write `/jobman stop ID…`"
    assert "`/jobman quota`" in refused("quota now")
    assert "'../../etc/passwd' is no id of a job" in refused("show ../../etc/passwd")
    assert "40 are the most" in refused("stop " + " ".join(map(str, range(100, 200))))
    assert "4000 at the most" in refused("list " + "x" * 40_000)


def test_a_number_of_lines_is_one_that_can_be_read() -> None:
    for number in ("0", "-1", "1e9", "99999999999999999999", "٣"):
        assert "does not take" in refused(f"logs 12 {number}")


@given(st.text(max_size=200))
def test_whatever_is_written_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(InvalidInputError):
        read(f"logs {text}")
        read(f"{text} list")


def test_every_change_and_every_long_table_has_a_command() -> None:
    assert set(CHANGES) <= set(TABLE)
    assert set(PAGES) <= set(TABLE)
    assert all(TABLE[word].deed is change.deed for word, change in CHANGES.items())
