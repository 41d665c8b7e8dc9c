"""``logs``, over a core that is a fake."""

import json
from typing import TYPE_CHECKING

import pytest

from jobman_core.errors import JobmanError
from jobman_core.models.view import LogChunk

if TYPE_CHECKING:
    from tests.cli.conftest import Cli, FakeApp


@pytest.fixture(autouse=True)
def _one_job(app: "FakeApp") -> None:
    app.add_job("000001")
    app.add_task("t")
    app.add_task("sweep")


def test_what_one_host_wrote_comes_out_byte_by_byte(cli: "Cli", app: "FakeApp") -> None:
    app.chunks = [
        LogChunk(None, 1, 0, b"\x1b[31mred\x1b[0m \xff\xfe", first=True),
        LogChunk(None, 1, 0, b"no newline"),
    ]
    code, out, err = cli("logs", "1")
    assert code == 0
    assert out.encode("utf-8", "surrogateescape") == b"\x1b[31mred\x1b[0m \xff\xfeno newline"
    assert err == "==> command, run 1 <==\n"


def test_lines_of_several_hosts_say_whose_they_are(cli: "Cli", app: "FakeApp") -> None:
    app.hosts = (0, 1)
    app.chunks = [
        LogChunk(None, 3, 0, b"first\n", first=True),
        LogChunk(None, 3, 1, b"step ", first=True),
        LogChunk(None, 3, 0, b"one\ntw"),
        LogChunk(None, 3, 1, b"1\n"),
        LogChunk(None, 3, 0, b"o"),
    ]
    out = "[0] first\n[0] one\n[1] step 1\n[0] two\n"
    assert cli("logs", "1") == (0, out, "==> command, run 3 <==\n")


def test_a_host_that_was_asked_for_alone_needs_no_name(cli: "Cli", app: "FakeApp") -> None:
    app.hosts = (0, 1)
    app.chunks = [LogChunk(None, 3, 1, b"step 1\n", first=True)]
    assert cli("logs", "1", "--worker", "1").out == "step 1\n"


def test_lines_of_a_task_on_several_hosts_say_whose_they_are(cli: "Cli", app: "FakeApp") -> None:
    app.hosts = (0, 1)
    app.chunks = [LogChunk("sweep", 2, 1, b"step 1\n", first=True)]
    assert cli("logs", "--task", "sweep").out == "[1] step 1\n"


def test_the_next_attempt_has_a_head_and_begins_on_a_line_of_its_own(
    cli: "Cli", app: "FakeApp"
) -> None:
    app.chunks = [
        LogChunk("a", 1, 0, b"cut", first=True),
        LogChunk("b", 2, 3, b"on\n", first=True),
    ]
    code, out, err = cli("logs", "1", "-f")
    assert (code, out) == (0, "cut\non\n")
    assert err == "==> task a, run 1 <==\n==> task b, run 2 <==\n"
    assert cli("logs", "1", "-q").err == ""


def test_the_controllers_log_has_no_head(cli: "Cli", app: "FakeApp") -> None:
    app.chunks = [LogChunk(None, 0, 0, b"12:00 asks for v4-8\n", first=True)]
    assert cli("logs", "1", "--controller") == (0, "12:00 asks for v4-8\n", "")


def test_as_json_there_is_a_text_for_each_host_of_each_attempt(cli: "Cli", app: "FakeApp") -> None:
    app.chunks = [
        LogChunk("t", 1, 0, b"a", first=True),
        LogChunk("t", 1, 1, b"\xff", first=True),
        LogChunk("t", 1, 0, b"b"),
    ]
    assert json.loads(cli("logs", "--task", "t", "--json").out) == [
        {"task": "t", "run": 1, "worker": 0, "text": "ab"},
        {"task": "t", "run": 1, "worker": 1, "text": "\ufffd"},
    ]


def test_options_are_handed_on(cli: "Cli", app: "FakeApp") -> None:
    cli("logs", "1", "--run", "2", "--worker", "0", "--tail", "0", "-f")
    assert app.calls == [("logs", False, True, "1", None, None, 2, None, 0, None, 0)]


def test_a_step_is_asked_for_by_its_name(cli: "Cli", app: "FakeApp") -> None:
    app.chunks = [LogChunk(None, 0, 0, b"collects wheels\n", first=True)]
    assert cli("logs", "1", "--step", "venv") == (0, "collects wheels\n", "")
    assert "venv" in app.calls[0]


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (["--task", "t", "--step", "venv"], "--step belongs to a job"),
        (["1", "--run", "2", "--step", "venv"], "--run and --step at once"),
        (["1", "--controller", "--step", "venv"], "--controller and --step at once"),
    ],
)
def test_what_does_not_go_together_is_refused(cli: "Cli", argv: list[str], why: str) -> None:
    code, out, err = cli("logs", *argv)
    assert (code, out) == (2, "")
    assert why in err


def test_a_log_that_is_too_long_for_a_document_needs_a_tail(cli: "Cli", app: "FakeApp") -> None:
    app.chunks = [LogChunk(None, 1, 0, bytes(1 << 20), first=True)] * 65
    code, out, err = cli("logs", "1", "--json")
    assert (code, out) == (2, "")
    assert err == ("error: more than 64 MB of logs do not fit into one document: give --tail\n")
    cli("logs", "1", "--json", "--tail", "5")
    assert app.calls[-1][4] == 64 << 20


def test_a_line_that_never_ends_is_not_kept_whole(cli: "Cli", app: "FakeApp") -> None:
    app.hosts = (0, 1)
    app.chunks = [LogChunk(None, 1, 0, b"step\r" * 10_000)] * 6
    out = cli("logs", "1").out
    assert out.count("[0] ") == 3
    assert out.replace("[0] ", "").replace("\n", "") == "step\r" * 60_000


def test_an_error_in_the_middle_comes_after_what_was_there(cli: "Cli", app: "FakeApp") -> None:
    class Broken(list[LogChunk]):
        def __iter__(self) -> "Broken":
            return self

        def __next__(self) -> LogChunk:
            if self:
                return self.pop()
            msg = "the file is gone: look at another run"
            raise JobmanError(msg)

    app.chunks = Broken([LogChunk("t", 1, 0, b"so far\n", first=True)])
    code, out, err = cli("logs", "--task", "t")
    assert (code, out) == (1, "so far\n")
    assert err.endswith("error: the file is gone: look at another run\n")


def test_what_is_to_be_mended_goes_to_standard_error_also_with_quiet(
    cli: "Cli", app: "FakeApp"
) -> None:
    app.chunks = [
        LogChunk(None, 1, 0, b"cut ", first=True),
        LogChunk(None, 0, 0, b"", notice="job 000001 is QUEUEING"),
        LogChunk(None, 0, 0, b"", notice="job 000001 has no controller", urgent=True),
        LogChunk(None, 1, 0, b"here\n"),
    ]
    code, out, err = cli("logs", "1", "-f", "-q")
    assert (code, out, err) == (0, "cut here\n", "warning: job 000001 has no controller\n")
