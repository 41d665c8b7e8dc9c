import io
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from jobman_core.errors import InvalidInputError
from jobman_core.interfaces.store import PastRun
from jobman_core.models.task import Counters, Running, Task, TaskStatus
from jobman_core.queue import state_file, v3_state
from jobman_core.queue.state_file import Head
from jobman_core.testing.store_contract.scene import NOON, entry

ENDS = ("completed", "failed")
FAIL = ["failed"]
HEAD = Head("0f0e-home", 12, NOON, 0.25)


def task(name: str = "a", **changes: Any) -> Task:
    plain = Task("/q", entry(name), Counters(), TaskStatus.PENDING, "")
    return attrs.evolve(plain, **changes)


def render(tasks: list[Task], history: dict[str, list[PastRun]] | None = None) -> str:
    return state_file.render_head(HEAD, "tasks.yaml") + state_file.render_tasks(
        tasks, history or {}
    )


def read(text: str) -> Any:
    """Read as any YAML reader of plain data does."""
    return YAML(typ="safe", pure=True).load(io.StringIO(text))


def old_state(tmp_path: Path, text: str, **limits: int) -> v3_state.OldState:
    path = tmp_path / "tasks_state.yaml"
    path.write_text(text, "utf-8")
    found = v3_state.read(path, limits)
    assert found is not None
    return found


def test_the_file_has_v3s_keys_and_names_its_home() -> None:
    runs = [
        PastRun("000045", NOON, NOON + timedelta(hours=1), "interrupted"),
        PastRun("000047", NOON, NOON, "completed"),
    ]
    counters = Counters(done=True, run_count=2)
    text = render([task(counters=counters)], {"a": runs})
    assert read(text) == {
        "home": "0f0e-home",
        "tasks": {
            "a": {
                "done": True,
                "priority": False,
                "running": [],
                "run_count": 2,
                "fail_count": 0,
                "history": [
                    {
                        "job_id": "000045",
                        "started": "2026-01-01T12:00:00Z",
                        "ended": "2026-01-01T13:00:00Z",
                        "status": "interrupted",
                    },
                    {
                        "job_id": "000047",
                        "started": "2026-01-01T12:00:00Z",
                        "ended": "2026-01-01T12:00:00Z",
                        "status": "completed",
                    },
                ],
            }
        },
    }


def test_a_task_that_used_up_its_attempts_is_not_done() -> None:
    found = read(render([task(counters=Counters(failed=True, fail_count=3, run_count=3))]))
    assert (found["tasks"]["a"]["done"], found["tasks"]["a"]["failed"]) == (False, True)


def test_who_runs_a_task_is_listed_with_utc_times() -> None:
    began = datetime(2026, 1, 1, 14, tzinfo=timezone(timedelta(hours=2)))
    found = read(render([task(running=(Running("000048", began, "t"),))]))
    assert found["tasks"]["a"]["running"] == [
        {"job_id": "000048", "started": "2026-01-01T12:00:00Z"}
    ]


def test_an_empty_queue_is_a_file_too() -> None:
    assert read(render([])) == {"home": "0f0e-home", "tasks": {}}


TRAPS = [
    "yes", "~", "null", "0x1f", "1e5", "2026-01-01", "- a", "a: b", "#x", "'", '"', "\\", "{x}",
    "&a", "*a", "!!t", "|", "%", "@", "`", " lead", "trail ", "", "two\nlines", "tab\t", "\x00",
    "\x7f", "\x85", "\u2028", "\ufeff", "né☃日本", "😀", "k" * 3000, "\\n", "$(id)",
    "?", "a?b: c #d",
]  # fmt: skip


@pytest.mark.parametrize("name", TRAPS)
def test_any_task_id_comes_back_as_it_was(name: str) -> None:
    text = render([task(name), task("after")], {name: [PastRun(name, None, None, "failed")]})
    text.encode("utf-8")
    found = read(text)["tasks"]
    assert list(found) == [name, "after"]
    assert found[name]["history"][0]["job_id"] == name


@settings(deadline=None)
@given(st.text())
def test_no_text_breaks_the_file(name: str) -> None:
    assert list(read(render([task(name)]))["tasks"]) == [name]


moments = st.one_of(
    st.none(), st.integers(0, 10**10).map(lambda seconds: NOON + timedelta(seconds=seconds))
)
past_runs = st.builds(
    PastRun,
    st.from_regex(r"[0-9]{6}", fullmatch=True),
    moments,
    moments,
    st.sampled_from(["completed", "failed", "interrupted", "stale_cleanup"]),
)


@given(
    name=st.text(min_size=1),
    done=st.booleans(),
    priority=st.booleans(),
    fails=st.integers(0, 5),
    more=st.integers(0, 5),
    runs=st.lists(past_runs, max_size=4),
)
def test_what_is_written_is_read_back(  # noqa: PLR0917 - each is one part of the input
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    done: bool,
    priority: bool,
    fails: int,
    more: int,
    runs: list[PastRun],
) -> None:
    """A state file that was moved to another home says there what it said here."""
    counters = Counters(
        done=done,
        failed=not done and fails >= 3,
        fail_count=fails,
        run_count=len(runs) + more,
        priority=priority,
    )
    # v3 called a task done that had used up its attempts.
    called_done = done and fails >= 3 and [r.status for r in runs if r.status in ENDS][-1:] == FAIL
    path = tmp_path_factory.getbasetemp() / "back_state.yaml"
    path.write_text(render([task(name, counters=counters)], {name: runs}), "utf-8")
    found = v3_state.read(path, {name: 3})
    assert found is not None
    expected = attrs.evolve(counters, done=done and not called_done)
    expected = attrs.evolve(expected, failed=not expected.done and fails >= 3)
    assert found.counters == {name: expected}
    assert found.history == ({name: runs} if runs else {})


def test_how_new_a_file_is_and_whose_is_read_off_its_head(tmp_path: Path) -> None:
    path = tmp_path / "x_state.yaml"
    assert state_file.read_head(path) is None
    state_file.write(path, render([task(f"t{n}") for n in range(1000)]))
    assert state_file.read_head(path) == HEAD
    path.write_text("home: abc\ntasks: {}\n")
    assert state_file.read_head(path) == Head("abc")
    path.write_text("# change 3, written yesterday in 1.0 s\nhome: 'abc'\n")
    assert state_file.read_head(path) == Head("abc")
    path.write_text("tasks:\n  home:\n    done: true\n")
    assert state_file.read_head(path) is None


def test_a_file_is_replaced_whole_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "x_state.yaml"
    state_file.write(path, "one")
    state_file.write(path, "two")
    assert path.read_text() == "two"
    assert list(tmp_path.iterdir()) == [path]


def test_the_state_file_stands_beside_its_tasks_file() -> None:
    target = state_file.path_of(Path("/x/eval.tasks.yaml"))
    assert target == Path("/x/eval.tasks_state.yaml")
    assert state_file.lock_of(target) == Path("/x/.eval.tasks_state.yaml.lock")


SEED = """
tasks:
  train-model-seed42:
    done: true                    # Task completed successfully
    running: []                   # Currently running instances
    run_count: 2                  # Total run attempts
    fail_count: 0                 # Consecutive failures (resets on success)
    history:
      - job_id: '000045'
        started: '2025-01-15T08:00:00'
        ended: '2025-01-15T08:45:00'
        status: interrupted       # TPU was preempted
      - job_id: 000047
        started: 2025-01-15T09:00:00
        ended: 2025-01-15T14:30:00
        status: completed
  train-model-seed43:
    done: false
    priority: true
    running:
      - job_id: '000048'
        started: '2025-01-15T14:35:00'
    run_count: 1
    history: []
"""


def test_a_v3_file_is_read_and_its_times_are_local(tmp_path: Path) -> None:
    found = old_state(tmp_path, SEED)
    assert found.counters == {
        "train-model-seed42": Counters(done=True, run_count=2),
        "train-model-seed43": Counters(run_count=1, priority=True),
    }
    first, second = found.history["train-model-seed42"]
    assert first.started == datetime(2025, 1, 15, 8).astimezone(UTC)
    assert (second.job, second.status) == ("000047", "completed")
    (running,) = found.history["train-model-seed43"]
    assert (running.job, running.status, running.ended) == ("000048", "interrupted", None)
    assert found.notes == ("task train-model-seed43: ran on v3's job 000048, taken as interrupted",)


@pytest.mark.parametrize(
    ("fails", "last", "limit", "failed"),
    [
        (3, "failed", 3, True),
        (3, "failed", 5, False),
        (1, "failed", 0, True),
        (3, "completed", 3, False),
        (0, "failed", 3, False),
    ],
)
def test_done_by_using_up_its_attempts_is_failed(
    tmp_path: Path, fails: int, last: str, limit: int, failed: bool
) -> None:
    history = f"[{{job_id: '1', started: null, ended: null, status: {last}}}]"
    text = f"tasks: {{a: {{done: true, fail_count: {fails}, history: {history}}}}}"
    counters = old_state(tmp_path, text, a=limit).counters["a"]
    assert (counters.done, counters.failed, counters.fail_count) == (not failed, failed, fails)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("tasks: {a: 3}", "not a map"),
        ("tasks: {a: }", "not a map"),
        ("tasks: {a: {history: x}}", "history is not a list"),
        ("tasks: {a: {running: {b: c}}}", "running is not a list"),
        ("tasks: {a: {history: [x]}}", "history entry 'x'"),
        ("tasks: {a: {history: [{job_id: 1, status: odd}]}}", "status 'odd'"),
        ("tasks: {a: {run_count: many}}", "run_count 'many' is no number"),
        ("tasks: {a: {fail_count: [1]}}", "fail_count (a list) is no number"),
        ("tasks: {a: {run_count: 9999999999999999999}}", "run_count '9999999999999999999' is no"),
        ("tasks: {a: {history: [{status: {a: b}}]}}", "status (a map)"),
        ('tasks: {"a\\u2028b": 3}', r"task a\u2028b: not a map"),
        ("tasks: {a: {history: [{status: failed, started: soon}]}}", "'soon' is no time"),
    ],
)
def test_odd_entries_are_passed_over_with_a_note(tmp_path: Path, text: str, note: str) -> None:
    found = old_state(tmp_path, f"{text}\n")
    assert note in "\n".join(found.notes)


@pytest.mark.parametrize("text", ["", "# nothing\n", "tasks:\n", "tasks: null\n"])
def test_an_empty_file_says_nothing(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x_state.yaml"
    path.write_text(text)
    assert v3_state.read(path, {}) is None
    assert v3_state.read(tmp_path / "missing", {}) is None


#: Seven levels of nine aliases each.
BOMB = b"b0: &b0 [x, x]\n" + b"".join(
    b"b%d: &b%d [%s]\n" % (n, n, b", ".join([b"*b%d" % (n - 1)] * 9)) for n in range(1, 7)
)


@pytest.mark.parametrize(
    "content",
    [
        b"tasks: [",
        b"\ttasks:",
        b"[]",
        b"just text",
        b"other: 1",
        b"tasks: text",
        b"\xff\xfe\x00",
        b"\x00\x01",
        b"a: *nowhere",
        b"[" * 5000,
        b"tasks: {a: {b: c}, ? [x] : y}",
        b"a: b: c",
        BOMB + b"? *b6\n: x",
        BOMB + b"tasks: *b6",
    ],
)
def test_a_file_that_is_no_state_file_is_one_clear_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x_state.yaml"
    path.write_bytes(content)
    try:
        v3_state.read(path, {})
    except InvalidInputError as error:
        text = str(error)
        assert str(path) in text
        assert text.endswith("mend it, or move it away so that the queue starts afresh")
        assert "\n" not in text
    else:
        assert content.startswith(b"tasks: {a"), "only odd entries are passed over"


def test_an_anchor_that_is_used_again_means_its_last_place(tmp_path: Path) -> None:
    found = old_state(tmp_path, "tasks: {a: {run_count: &n 1, fail_count: &n 2}}\n")
    assert (found.counters["a"].run_count, found.counters["a"].fail_count) == (1, 2)


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_no_content_gives_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any_state.yaml"
    path.write_bytes(b"tasks:\n  a:\n    " + content)
    try:
        found = v3_state.read(path, {})
    except InvalidInputError:
        return
    assert found is None or set(found.history) <= set(found.counters)
