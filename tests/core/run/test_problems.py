"""Checks on hosts and their remedies: what is asked, what answers mean, what is believed."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import attrs
import pytest

from jobman_core.clock import SystemClock
from jobman_core.errors import CommandFailedError, HostUnreachableError
from jobman_core.interfaces.host import HostFacts
from jobman_core.interfaces.problem import HostProblem
from jobman_core.models.job import HoldMode, JobSpec
from jobman_core.models.slice import SliceRequest
from jobman_core.plugins import Plugins
from jobman_core.run.problems import look, mend, read_answers
from jobman_core.run.questions import Around, fitting, problems_of
from jobman_core.testing.fakes import FakeHost

OWN, SHARED = HostFacts(own_machine=True), HostFacts(own_machine=False)
AROUND = Around(SystemClock())


@pytest.fixture
def host(tmp_path: Path) -> FakeHost:
    return FakeHost(3, tmp_path / "host", facts=OWN)


def saying(*lines: str, code: int = 1, **more: Any) -> HostProblem:
    script = "".join(f"echo '{line}'\n" for line in lines)
    return HostProblem("odd", f"{script}exit {code}", **more)


#: Is well once there is a file.
NEEDS_FILE = HostProblem(
    "file", "[ -e mended ] || { echo 'there is no file'; exit 1; }", "touch mended", "make it"
)


def names(*found: HostProblem) -> list[str]:
    return [problem.name for problem in found]


# -- which ---------------------------------------------------------------------------------------


def test_what_is_about_a_machine_is_not_asked_where_others_work_too() -> None:
    machine, other = HostProblem("disk", "", machine=True), HostProblem("package", "")
    assert names(*fitting([machine, other], OWN)) == ["disk", "package"]
    assert names(*fitting([machine, other], SHARED)) == ["package"]


def test_before_work_only_cheap_checks_are_asked() -> None:
    cheap, dear = HostProblem("cheap", "", cheap=True), HostProblem("dear", "")
    assert names(*fitting([dear, cheap], OWN, cheap=True)) == ["cheap"]


def test_checks_come_from_plugins_then_storage_then_the_environment() -> None:
    class Backend:
        def __init__(self, name: str, *found: HostProblem) -> None:
            self.name, self.found = name, found

        def problems(self, spec: JobSpec) -> tuple[HostProblem, ...]:
            assert spec.name == "job"
            return self.found

    class Plugin:
        from jobman_core import hookimpl

        @hookimpl
        def jobman_problems(self) -> list[HostProblem]:
            return [HostProblem("disk", "true")]

    plugins = Plugins()
    plugins.add("mine", Plugin(), distribution="x")
    environment: Any = Backend("venv", HostProblem("package", "true"))
    storage: Any = Backend("bucket", HostProblem("bucket", "true"))
    spec = JobSpec("job", "job", HoldMode(), ())
    found = problems_of(spec, environment, [storage], plugins)
    assert names(*found) == ["disk", "bucket", "package"]


def test_a_backend_that_fails_to_give_its_checks_is_passed_over_with_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken:
        name = "broken"

        def problems(self, _spec: JobSpec) -> None:
            raise OSError("no such file")

    broken: Any = Broken()
    spec = JobSpec("job", "job", HoldMode(), ())
    assert problems_of(spec, broken, [broken], Plugins()) == ()
    assert caplog.text.count("broken has no checks") == 2


# -- asked ---------------------------------------------------------------------------------------


async def test_all_checks_of_a_host_are_asked_in_one_round_trip_and_at_once(
    host: FakeHost,
) -> None:
    # Each waits for the other.
    one = HostProblem("one", "touch one; until [ -e two ]; do sleep 0.01; done; echo 1; exit 3")
    two = HostProblem("two", "touch two; until [ -e one ]; do sleep 0.01; done; echo 2; exit 4")
    found = await look(host, [one, HostProblem("well", "true"), two], AROUND)
    assert [(each.host, each.problem.name, each.what) for each in found] == [
        (3, "one", "1"),
        (3, "two", "2"),
    ]
    assert len(host.ran) == 1


async def test_a_host_that_no_check_fits_is_not_asked(host: FakeHost) -> None:
    assert await look(host, [], AROUND) == []
    assert host.ran == []


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (saying("it is so"), "it is so"),
        (saying("two things", "are wrong", code=7), "two things; are wrong"),
        (saying("jobman: it is half made"), "it is half made"),
        (saying(code=9), "the check ended with 9"),
        (HostProblem("odd", "echo on stderr >&2; false"), "on stderr"),
        (HostProblem("odd", "sleep 60"), "the check was not over within 1 s"),
        (HostProblem("odd", "echo so far; sleep 60"), "the check was not over within 1 s: so far"),
        (HostProblem("odd", "trap '' TERM; sleep 60"), "the check was not over within 1 s"),
        (HostProblem("odd", r"printf 'a\0b'"), "the check was not over within 1 s: a"),
        (HostProblem("odd", "if"), "syntax error"),
        (HostProblem("odd", "printf 'x%.0s' {1..9999}; exit 1"), "…xxx"),
        (HostProblem("odd", r"printf '\377'; exit 1"), "\N{REPLACEMENT CHARACTER}"),
        (HostProblem("odd", "cat; echo nothing to read; exit 1"), "nothing to read"),
        (HostProblem("odd", "sleep 60 & echo left; exit 1"), "left"),
    ],
)
async def test_what_a_check_says_is_what_is_wrong(
    host: FakeHost, problem: HostProblem, said: str
) -> None:
    (found,) = await look(host, [problem], AROUND, limit=1)
    assert said in found.what
    assert "\n" not in found.what
    assert not found.what.startswith("jobman: ")
    assert len(found.what) < 500


async def test_a_check_that_hangs_does_not_keep_the_answers_of_others(host: FakeHost) -> None:
    found = await look(host, [HostProblem("hangs", "sleep 60"), saying("so")], AROUND, limit=1)
    assert [each.what for each in found] == ["the check was not over within 1 s", "so"]


async def test_scripts_are_told_what_there_is_to_know(tmp_path: Path) -> None:
    facts = HostFacts(own_machine=False, devices=("/dev/a*", "/dev/b*"), device_lock="/tmp/lock")
    host = FakeHost(0, tmp_path / "host", facts=facts)
    spec = JobSpec(
        *("job", "job", HoldMode(), (SliceRequest("gcp", "v4-8", "here"),)),
        sections={
            "ssh": {"identities": [{"private_key": "/me/.ssh/a b", "public_key": "/me/.ssh/c.pub"}]}
        },
    )
    names = ["OWN_MACHINE", "DEVICES", "DEVICE_LOCK", "LIVE", "KEYS"]
    script = "\n".join(f'echo "$JOBMAN_{name}"' for name in names)
    now = 'n=$(($(date +%s) - JOBMAN_NOW)); [ "${n#-}" -lt 60 ] && echo now'
    around = Around.of(spec, SystemClock(), ["t1", "t2"])
    (found,) = await look(host, [HostProblem("x", f"{script}\n{now}\nexit 1")], around)
    assert found.what == "0; /dev/a* /dev/b*; /tmp/lock; t1 t2; .ssh/a b; .ssh/c.pub; now"


async def test_a_host_without_bash_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = FakeHost(0, tmp_path / "host")
    bare = tmp_path / "bin"
    bare.mkdir()
    (bare / "sh").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(bare))
    with pytest.raises(CommandFailedError, match="the host needs bash"):
        await look(host, [saying("so")], AROUND)


async def test_a_host_that_does_not_answer_is_no_finding_of_a_check(host: FakeHost) -> None:
    host.away = "no route"
    with pytest.raises(HostUnreachableError, match="no route"):
        await look(host, [saying("so")], AROUND)


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"\nN\0",
        b"\nN\0000\0",
        b"\nN\0000\0\0",
        b"\nN\0000\0\0001\0x\0N\0",
        b"noise\n000\0\0N\0",
    ],
)
def test_an_answer_that_was_cut_off_is_none(said: bytes) -> None:
    assert read_answers(said, "N", 1) is None


# -- mended --------------------------------------------------------------------------------------


async def test_a_remedy_is_run_and_its_check_is_asked_again(host: FakeHost) -> None:
    found = await look(host, [NEEDS_FILE], AROUND)
    (finding,) = await mend(host, found, AROUND)
    assert (finding.host, finding.name, finding.problem) == (3, "file", "there is no file")
    assert (finding.fixed, finding.remedy, finding.why) == (True, "make it", "")


@pytest.mark.parametrize(
    ("remedy", "why"),
    [
        ("true", "its remedy went well, and it is as before"),
        ("echo 'sudo: a password is required' >&2; exit 5", "ended with 5: sudo: a password"),
        ("exit 6", "its remedy ended with 6: it gave no reason"),
        ("sleep 60", "its remedy was not over in time"),
    ],
)
async def test_a_remedy_that_does_not_help_is_said_not_to(
    host: FakeHost, remedy: str, why: str
) -> None:
    found = await look(host, [saying("so", remedy=remedy)], AROUND)
    (finding,) = await mend(host, found, AROUND, limit=1)
    assert not finding.fixed
    assert why in finding.why


async def test_what_has_no_remedy_is_named_and_left(host: FakeHost) -> None:
    found = await look(host, [saying("so", remedy_text="call somebody")], AROUND)
    (finding,) = await mend(host, found, AROUND)
    assert (finding.fixed, finding.mendable) == (False, False)
    assert (finding.remedy, finding.why) == ("call somebody", "")
    assert len(host.ran) == 1, "there was nothing to do"


async def test_what_one_remedy_mends_along_with_its_own_is_mended(host: FakeHost) -> None:
    """So a storage that is mounted again needs no remedy for the mount that was dead."""
    other = HostProblem("other", NEEDS_FILE.check)
    found = await look(host, [other, NEEDS_FILE], AROUND)
    assert [each.fixed for each in await mend(host, found, AROUND)] == [True, True]


async def test_remedies_run_one_after_the_other_in_the_order_of_their_checks(
    host: FakeHost,
) -> None:
    one = saying("one", remedy="sleep 0.2; echo one >> order")
    two = saying("two", remedy="echo two >> order")
    await mend(host, await look(host, [one, two], AROUND), AROUND)
    assert (host.home / "order").read_text() == "one\ntwo\n"


async def test_beside_a_program_that_runs_only_gentle_remedies_are_run(host: FakeHost) -> None:
    rough = saying("rough", remedy="touch rough")
    gentle = saying("gentle", remedy="touch gentle", gentle=True)
    nothing = saying("nothing")
    found = await look(host, [rough, gentle, nothing], AROUND)
    ends = await mend(host, found, AROUND, refusal="refused, since it runs")
    assert [end.why for end in ends] == [
        "refused, since it runs",
        "its remedy went well, and it is as before",
        "",
    ]
    assert not (host.home / "rough").exists()
    assert (host.home / "gentle").exists()


async def test_what_a_remedy_starts_may_stay(host: FakeHost) -> None:
    """As the daemon behind a mount does, which holds whatever it got open."""
    stays = saying("so", remedy="sleep 60 & echo $! > pid", gentle=True)
    found = await look(host, [stays], AROUND)
    await mend(host, found, AROUND)
    os.kill(int((host.home / "pid").read_text()), signal.SIGKILL)


async def test_whoever_looks_at_a_host_waits_for_remedies_that_are_at_work_there(
    host: FakeHost,
) -> None:
    """They may be those of a controller that is gone; a program must not meet them."""
    slow = attrs.evolve(
        NEEDS_FILE, remedy="touch begun; until [ -e go ]; do sleep 0.02; done; touch mended"
    )
    found = await look(host, [slow], AROUND)
    mending = asyncio.create_task(mend(host, found, AROUND))
    async with asyncio.timeout(30):
        while not (host.home / "begun").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)
    looking = asyncio.create_task(look(host, [NEEDS_FILE], AROUND))
    await asyncio.wait([looking], timeout=0.3)
    (host.home / "go").touch()
    assert await looking == []
    assert [finding.fixed for finding in await mending] == [True]
