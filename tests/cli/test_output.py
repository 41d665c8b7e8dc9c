"""How text looks: tables at the width of a terminal, harmless names, times."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobman_cli import output
from jobman_cli.output import Cell, Table

NOW = datetime(2025, 3, 9, 14, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("sweep/lr=0.1", "sweep/lr=0.1"),
        ("größe 試験", "größe 試験"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("two\nlines\t", "two\\nlines\\t"),
        ("\u202egpj.exe", "\\u202egpj.exe"),
    ],
)
def test_what_could_steer_a_terminal_is_shown_as_text(text: str, shown: str) -> None:
    assert output.clean(text) == shown


@given(st.text())
def test_no_cleaned_text_holds_a_control_character(text: str) -> None:
    assert output.clean(text).isprintable()


@given(st.text(), st.integers(min_value=1, max_value=30))
def test_a_cut_text_fits(text: str, room: int) -> None:
    assert output.width(output.cut(output.clean(text), room)) <= room


@pytest.mark.parametrize(
    ("text", "room", "shown"),
    [
        ("waits for tasks: 2 are open", 30, "waits for tasks: 2 are open"),
        ("waits for tasks: 2 are open", 24, "waits for tasks: 2 are…"),
        ("waits for tasks: 2 are open", 17, "waits for tasks…"),
        ("waits for tasks: 2 are open", 14, "waits for…"),
        ("run an-identifier-without-end", 20, "run an-identifier-w…"),
        ("an-identifier-without-end", 10, "an-identi…"),
    ],
)
def test_a_text_is_cut_between_words_where_that_leaves_enough(
    text: str, room: int, shown: str
) -> None:
    assert output.cut(text, room) == shown


@given(st.text(alphabet="ab 試", max_size=60), st.integers(min_value=2, max_value=30))
def test_wrapping_fits_and_loses_no_word(text: str, room: int) -> None:
    lines = output.wrap(text, room)
    assert all(output.width(line) <= room for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def table() -> Table:
    table = Table("ID", "NAME", "STATUS", "WHAT", shrink=("NAME",))
    table.add("000001", "a-name-that-goes-on-and-on", Cell("RUNNING", "green"), "task one")
    table.add("000002", "短い", "QUEUEING", "no capacity in zone b; asks again in 30 s")
    table.add("000003", "c", "DONE", "")
    return table


def test_in_a_pipe_each_row_is_one_aligned_line() -> None:
    assert table().lines(None) == [
        "ID      NAME                        STATUS    WHAT",
        "000001  a-name-that-goes-on-and-on  RUNNING   task one",
        "000002  短い                        QUEUEING  no capacity in zone b; asks again in 30 s",
        "000003  c                           DONE",
    ]


def test_with_some_room_the_last_column_is_wrapped_beside_the_others() -> None:
    assert table().lines(74) == [
        "ID      NAME                        STATUS    WHAT",
        "000001  a-name-that-goes-on-and-on  RUNNING   task one",
        "000002  短い                        QUEUEING  no capacity in zone b; asks",
        "                                              again in 30 s",
        "000003  c                           DONE",
    ]


def test_where_it_is_narrow_the_last_column_stands_below_and_names_are_cut() -> None:
    assert table().lines(36) == [
        "ID      NAME                STATUS",
        "000001  a-name-that-goes-…  RUNNING",
        "        task one",
        "000002  短い                QUEUEING",
        "        no capacity in zone b; asks",
        "        again in 30 s",
        "000003  c                   DONE",
    ]


def of_numbers() -> Table:
    table = Table(
        *("NAME", "IP", "RUNS", "LOST", "WHAT"), drop=("IP", "RUNS"), right=("RUNS", "LOST")
    )
    table.add("first", "10.0.0.1", "7", "-", "task one")
    table.add("second", "-", "1234", "2", "waits")
    return table


def test_numbers_stand_below_one_another_by_their_ends() -> None:
    assert of_numbers().lines(None) == [
        "NAME    IP        RUNS  LOST  WHAT",
        "first   10.0.0.1     7     -  task one",
        "second  -         1234     2  waits",
    ]


def test_a_last_column_of_numbers_stands_by_its_ends_too() -> None:
    table = Table("NAME", "RUNS", right=("RUNS",))
    table.add("a", "12345")
    table.add("b", "7")
    for room in (None, 80):
        assert table.lines(room) == ["NAME   RUNS", "a     12345", "b         7"]


def test_where_it_is_narrow_columns_are_left_out_in_their_order() -> None:
    assert of_numbers().lines(27)[:3] == [
        "NAME    RUNS  LOST",
        "first      7     -",
        "        task one",
    ]
    assert of_numbers().lines(17)[0] == "NAME    LOST"


def test_a_terminal_has_no_column_that_says_nothing() -> None:
    table = Table("NAME", "IP", "WHAT", drop=("IP",))
    table.add("first", "-", "waits")
    assert table.lines(80) == ["NAME   WHAT", "first  waits"]
    assert table.lines(None)[0] == "NAME   IP  WHAT"


@given(st.integers(min_value=30, max_value=120))
def test_no_line_is_wider_than_the_terminal(room: int) -> None:
    assert all(output.width(line) <= room for line in table().lines(room))


def test_colours_surround_the_words_and_leave_the_columns() -> None:
    line = table().lines(None, output.colourful)[1]
    assert "\x1b[32mRUNNING\x1b[0m   task one" in line


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-3, "0s"), (59.6, "1m 00s"), (200, "3m 20s"), (7500, "2h 05m"), (273_600, "3d 4h")],
)
def test_durations(seconds: float, text: str) -> None:
    assert output.span(seconds) == text


@pytest.mark.usefixtures("cli")
def test_a_time_of_today_has_no_date_and_another_has() -> None:
    assert output.moment(NOW - timedelta(hours=2), NOW) == "12:00:00"
    assert output.moment(NOW - timedelta(days=2), NOW) == "2025-03-07 14:00"


@pytest.mark.parametrize("hours", [-9, 9])
def test_a_time_at_the_end_of_all_times_is_shown_in_any_zone(hours: int) -> None:
    now = NOW.astimezone(timezone(timedelta(hours=hours)))
    assert output.moment(datetime.max.replace(tzinfo=UTC), now).startswith("9999-12-31")
    assert "1-01-01" in output.moment(datetime.min.replace(tzinfo=UTC), now)


def test_a_width_in_letters_that_only_look_like_numbers_is_none() -> None:
    assert output.columns({"COLUMNS": "²"}) == output.columns({})


def test_many_words_are_counted() -> None:
    assert output.joined([str(i) for i in range(10)], 3) == "0, 1, 2, and 7 more"
