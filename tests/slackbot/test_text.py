"""Texts of others, made safe."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobman_slackbot import text

#: Anything that a name, a reason or a log may be made of, and what hurts most often.
HOSTILE = st.lists(
    st.one_of(
        st.text(max_size=20),
        st.sampled_from(
            [
                "<!channel>",
                "<@U0123456789>",
                "```",
                "`",
                "*",
                "_",
                "~",
                "&amp;",
                "\0",
                "\r\n",
                "\u202e",
            ]
        ),
        st.sampled_from(
            ["\u200b", "\u202e", "\ud800", "😀", "e\u0301", "<https://x|y>", "a" * 500]
        ),
    ),
    max_size=12,
).map("".join)
LIMITS = st.integers(min_value=16, max_value=400)
#: What Slack reads in markup besides the marks: mentions, channels, links.
RAW = re.compile(r"[<>]|&(?!amp;|lt;|gt;)")


@pytest.mark.parametrize("make", [text.line, text.mrkdwn, text.prose, text.code, text.block])
@given(HOSTILE, LIMITS)
def test_what_is_made_is_never_empty_nor_too_long(
    make: Callable[[str, int], str], hostile: str, limit: int
) -> None:
    assert 0 < text.size(make(hostile, limit)) <= limit


@given(HOSTILE, LIMITS)
def test_a_line_has_nothing_that_cannot_be_seen(hostile: str, limit: int) -> None:
    for make in (text.line, text.mrkdwn, text.code):
        assert make(hostile, limit).isprintable()


@given(HOSTILE, LIMITS)
def test_markup_mentions_and_links_nothing(hostile: str, limit: int) -> None:
    for make in (text.mrkdwn, text.prose, text.code, text.block):
        assert not RAW.search(make(hostile, limit))


@given(HOSTILE, LIMITS)
def test_nothing_ends_the_code_that_it_stands_in(hostile: str, limit: int) -> None:
    assert text.code(hostile, limit).count("`") == 2
    assert text.block(hostile, limit).count("`") == 6


@given(HOSTILE, LIMITS)
def test_what_is_cut_shows_that_it_was(hostile: str, limit: int) -> None:
    whole = text.line(hostile, 10_000)
    made = text.line(hostile, limit)
    assert made == whole or made.endswith(text.MORE)


def test_a_name_stays_as_people_know_it() -> None:
    assert text.mrkdwn("llama_7b-sweep.v2", 80) == "llama_7b-sweep.v2"
    assert text.line("exit 3 on host 2: a < b & c", 80) == "exit 3 on host 2: a < b & c"


def test_marks_of_markup_are_shown_as_marks_that_look_alike() -> None:
    assert text.mrkdwn("*a* _b_ ~c~ `d` __init__", 80) == "∗a∗ ˍbˍ ∼c∼ ˋdˋ ˍˍinitˍˍ"  # noqa: RUF001


def test_code_in_a_sentence_of_the_core_stays_code() -> None:
    assert text.prose("no job: `jobman list` <all>", 80) == "no job: `jobman list` &lt;all&gt;"
    assert text.prose("a ```b``` c", 80) == f"a {'ˋ' * 3}b{'ˋ' * 3} c"  # noqa: RUF001


def test_mentions_are_shown_and_mention_nobody() -> None:
    assert text.mrkdwn("<!channel> <@U1>", 80) == "&lt;!channel&gt; &lt;@U1&gt;"


def test_a_cut_is_not_within_an_escape_or_a_character() -> None:
    assert text.mrkdwn("<<<<<<", 10) == "&lt;&lt;…"
    assert text.cut("ab😀cd", 4) == "ab…"
    assert text.cut("abe\u0301fgh", 4) == "ab…"


def test_what_steers_a_terminal_is_shown_or_gone() -> None:
    log = "\x1b[32mstep 1\x1b[0m\r\n 10%\r 50%\r100%\nbell\x07 nul\0\n"
    assert text.lines(log) == "step 1\n100%\nbell\\x07 nul\\x00"


def test_a_block_keeps_the_end_of_a_log_by_whole_lines() -> None:
    log = "".join(f"step {number}\n" for number in range(1000))
    assert text.block(log, 40) == "```\n…\nstep 997\nstep 998\nstep 999\n```"


def test_a_block_of_one_endless_line_keeps_its_end() -> None:
    assert text.block("x" * 40_000 + "end", 40) == f"```\n…\n{'x' * 27}end\n```"


def test_of_nothing_a_dash_is_left() -> None:
    assert text.line(" \n", 10) == "-"
    assert text.block("", 40) == "```\n-\n```"
