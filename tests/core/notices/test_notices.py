"""What people are told of which event, and who."""

import attrs
import pytest

from jobman_core.models.event import Event
from jobman_core.models.job import Desired, Job
from jobman_core.models.notice import Audience, NoticeKind, NotifyRule
from jobman_core.notices import Facts, about_of, notice_of
from jobman_core.testing.store_contract.scene import NOON

JOB = Job(
    id="000007",
    user="ada",
    name="train_000007",
    base_name="train",
    accelerator="v4-8",
    zone="here",
    cloud="local",
    session="process",
    queue=None,
    spec_hash="",
    desired=Desired.RUNNING,
    created_at=NOON,
)
OWNER, NOBODY = NotifyRule(Audience.OWNER), NotifyRule(Audience.NOBODY)
CHANNEL = NotifyRule()
ONLY_FAILED = NotifyRule(Audience.CHANNEL, (NoticeKind.FAILED,))


def event(number: int, kind: str, text: str = "it", *, task: str | None = None) -> Event:
    return Event(number, NOON, kind, text, JOB.id, "/tasks.yaml" if task else None, task)


@pytest.mark.parametrize(
    ("kind", "said", "told"),
    [
        ("job.done", "job 000007 is DONE: exit 0", "job 000007 (train) is DONE: exit 0"),
        ("slice.preempted", "slice g3 is lost", "job 000007 (train): slice g3 is lost"),
        ("slice.reaped", "deleted node x", "deleted node x"),
    ],
)
def test_a_notice_names_the_job_and_what_happened(kind: str, said: str, told: str) -> None:
    notice = notice_of(event(1, kind, said), "about", Facts(JOB))
    assert notice is not None
    assert (notice.text, notice.user, notice.job, notice.about) == (told, "ada", "000007", "about")


def test_a_job_with_a_name_of_its_own_is_called_by_it() -> None:
    named = attrs.evolve(JOB, name="train_blue")
    notice = notice_of(event(1, "job.stuck", "waits"), "about", Facts(named))
    assert notice is not None
    assert notice.text == "job 000007 (train_blue): waits"


@pytest.mark.parametrize(
    ("queue", "job", "lab", "task", "to"),
    [
        (None, None, None, None, Audience.CHANNEL),
        (None, None, OWNER, None, Audience.OWNER),
        (None, CHANNEL, OWNER, None, Audience.CHANNEL),
        (OWNER, CHANNEL, NOBODY, "a", Audience.OWNER),
        (None, OWNER, CHANNEL, "a", Audience.OWNER),
        # A queue speaks for its tasks, not for those who work for it.
        (NOBODY, OWNER, None, None, Audience.OWNER),
        (None, ONLY_FAILED, None, None, Audience.CHANNEL),
    ],
)
def test_the_nearest_who_says_something_says_who_is_told(
    queue: NotifyRule | None,
    job: NotifyRule | None,
    lab: NotifyRule | None,
    task: str | None,
    to: Audience,
) -> None:
    facts = Facts(attrs.evolve(JOB, notify=job), queue, lab)
    kind = "task.given_up" if task else "job.failed"
    notice = notice_of(event(1, kind, task=task), "about", facts)
    assert notice is not None
    assert notice.to is to


@pytest.mark.parametrize("rule", [NOBODY, ONLY_FAILED, NotifyRule(Audience.OWNER, ())])
def test_what_nobody_wants_to_hear_is_not_told(rule: NotifyRule) -> None:
    assert notice_of(event(1, "job.done"), "about", Facts(attrs.evolve(JOB, notify=rule))) is None


def test_what_belongs_to_nobody_is_for_all_to_see() -> None:
    notice = notice_of(Event(1, NOON, "slice.reaped", "deleted x"), "about", Facts(lab=OWNER))
    assert notice is not None
    assert (notice.to, notice.user) == (Audience.CHANNEL, None)


def abouts(*kinds: str) -> list[str | None]:
    """Give what each of some events of one job is about, by the number of the event."""
    troubles: dict[str, str] = {}
    found = [about_of(event(number, kind), troubles) for number, kind in enumerate(kinds)]
    return [about and about.rpartition(" ")[2] for about in found]


def test_a_loss_and_the_slice_after_it_are_one_matter() -> None:
    assert abouts("slice.ready", "slice.preempted", "slice.ready") == [None, "1", "1"]
    assert abouts("slice.vanished", "slice.ready", "slice.preempted", "slice.ready") == [
        "0", "0", "2", "2",
    ]  # fmt: skip
    assert abouts("hosts.silent", "slice.ready", "slice.ready") == ["0", "0", None]
    assert abouts("job.stuck", "slice.ready") == ["0", "0"]


def test_a_job_that_ends_with_its_slice_is_one_matter_too() -> None:
    assert abouts("slice.preempted", "job.preempted", "slice.ready") == ["0", "0", None]
    assert abouts("job.preempted") == ["0"]


def test_what_became_of_a_job_is_a_matter_of_its_own() -> None:
    assert abouts("slice.preempted", "job.failed", "slice.ready") == ["0", "1", None]
    assert abouts("slice.preempted", "job.stopped", "job.started", "slice.ready") == [
        "0", "1", "2", None,
    ]  # fmt: skip


def test_jobs_are_not_taken_for_one_another() -> None:
    troubles: dict[str, str] = {}
    about_of(event(1, "slice.preempted"), troubles)
    other = attrs.evolve(event(2, "slice.ready"), job="000008")
    assert about_of(other, troubles) is None
