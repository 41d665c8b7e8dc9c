"""What holds for all tests."""

import os
import shutil
from collections.abc import Generator

import hypothesis
import pytest

# How long an example takes says more about what else this machine does.
hypothesis.settings.register_profile("jobman", deadline=None)
hypothesis.settings.load_profile("jobman")

# The contract suites are tests too: their failures show the values.
pytest.register_assert_rewrite("jobman_core.testing")

IN_CI = bool(os.environ.get("CI"))


def pytest_xdist_auto_num_workers() -> int:
    """Run twice as many at a time as there are cores: many tests wait for what runs beside them."""
    return 2 * (os.cpu_count() or 1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give real processes their time; skip what this machine cannot run, by its markers."""
    lacks = {
        "fuse": None
        if shutil.which("rclone") and shutil.which("fusermount3")
        else "needs rclone and fusermount3",
        "root": None if os.geteuid() == 0 else "needs root",
        "tmux": None if shutil.which("tmux") else "needs tmux",
        "screen": None if shutil.which("screen") else "needs screen",
    }
    for item in items:
        # A guard against hangs, which a busy machine is not to trip.
        if item.get_closest_marker("e2e") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(180))
        for marker, reason in lacks.items():
            if reason and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


def _fail_if_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    """In CI a skip is a failure, or a machine that lacks a tool would be green for ever."""
    if IN_CI and report.outcome == "skipped" and not hasattr(report, "wasxfail"):
        where = report.longrepr
        why = where[2] if isinstance(where, tuple) else str(where)
        report.outcome = "failed"
        report.longrepr = f"in CI nothing may be skipped: {report.nodeid}: {why}"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _fail_if_skipped(report)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show how long the quick part takes, so that it stays quick."""
    reports = [
        report
        for outcome in terminalreporter.stats.values()
        for report in outcome
        if isinstance(report, pytest.TestReport) and "e2e" not in report.keywords
    ]
    tests = len({report.nodeid for report in reports})
    seconds = sum(report.duration for report in reports)
    terminalreporter.write_line(f"unit part (not e2e): {tests} tests, {seconds:.1f} s")
