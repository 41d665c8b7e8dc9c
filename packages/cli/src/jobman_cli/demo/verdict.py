"""Whether everything in the demo ended as it should, and what was to be seen, in plain words."""

from typing import TYPE_CHECKING, NamedTuple

from jobman_cli import output
from jobman_cli.demo import files as script

if TYPE_CHECKING:
    from jobman_cli.demo.play import Play
    from jobman_core.models.attempt import Attempt


class Check(NamedTuple):
    """One thing that had to hold."""

    holds: bool
    #: What was to be seen.
    text: str
    #: What was there instead, where it does not hold.
    instead: str = ""


def checks(play: "Play") -> list[Check]:
    """Judge a play that is over."""
    runs: dict[str, list[Attempt]] = {task.id: [] for task in play.tasks}
    for detail in play.details:
        for one in detail.attempts:
            if one.task is not None:
                runs.setdefault(one.task, []).append(one)
    for attempts in runs.values():
        attempts.sort(key=lambda one: one.number)
    return [
        _dependency(runs),
        _retry(runs),
        _preemption(play, runs),
        _all_done(play),
        _tidy(play),
    ]


def _ends(runs: "dict[str, list[Attempt]]", task: str) -> list[str]:
    return [str(one.outcome.kind) if one.outcome else "open" for one in runs.get(task, [])]


def _words(ends: list[str]) -> str:
    return ", ".join(ends) or "never ran"


def _dependency(runs: "dict[str, list[Attempt]]") -> Check:
    begun = [one.started_at or one.claimed_at for one in runs.get(script.LONG, [])]
    ended = [one.ended_at for one in runs.get(script.FIRST, []) if one.ended_at]
    return Check(
        bool(begun and ended) and min(begun) >= max(ended),
        f"{script.LONG} waited for {script.FIRST}, since it depends on it.",
        f"{script.FIRST}: {_words(_ends(runs, script.FIRST))}",
    )


def _retry(runs: "dict[str, list[Attempt]]") -> Check:
    ends = _ends(runs, script.FLAKY)
    return Check(
        ends == ["failed", "succeeded"],
        f"{script.FLAKY} failed once and was tried again by itself: the second run passed.",
        f"runs of {script.FLAKY}: {_words(ends)}",
    )


def _preemption(play: "Play", runs: "dict[str, list[Attempt]]") -> Check:
    attempts = runs.get(script.LONG, [])
    ends = _ends(runs, script.LONG)
    if play.struck is None or ends != ["interrupted", "succeeded"]:
        text = f"the slice under {script.LONG} was taken away, and {script.LONG} was run again."
        return Check(False, text, f"runs of {script.LONG}: {_words(ends)}")
    lost, after = attempts
    names = {job.id: job.name for job in play.jobs}
    who = "the same worker" if after.job == lost.job else names.get(after.job, after.job)
    when = "at once"
    if lost.ended_at and after.started_at:
        gap = (after.started_at - lost.ended_at).total_seconds()
        when = f"{output.span(gap)} later" if gap > 1 else "within a second"
    recovered = sum(detail.job.recoveries for detail in play.details)
    return Check(
        recovered >= 1,
        f"The slice under {script.LONG} was taken away in the middle. That counted as an"
        f" interruption, not as a failure: {who} took it up {when}, from its last checkpoint,"
        f" and {names.get(lost.job, lost.job)} got a new slice.",
        "no worker got a new slice",
    )


def _all_done(play: "Play") -> Check:
    number = output.count(len(play.tasks), "task")
    odd = [f"{task.id} is {task.status}" for task in play.tasks if task.status != "DONE"]
    return Check(bool(play.tasks) and not odd, f"All {number} are done.", "; ".join(odd))


def _tidy(play: "Play") -> Check:
    return Check(
        not play.left,
        "Both slices were given back, and nothing runs any more.",
        "; ".join(play.left),
    )
