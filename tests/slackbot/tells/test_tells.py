"""Notices in Slack: where they stand, what they say, and that each is told once."""

from datetime import timedelta

import pytest
from tests.slackbot.tells.conftest import START, Desk, Fate, Killed, burst, notice

from jobman_core.models.notice import Audience, NoticeKind
from jobman_slackbot.bursts import MOST
from jobman_slackbot.errors import SlackError

FAILED, PREEMPTED, RECOVERED = NoticeKind.FAILED, NoticeKind.PREEMPTED, NoticeKind.RECOVERED


async def test_a_single_notice_is_one_line_in_the_channel(desk: Desk) -> None:
    await desk.tells.deliver([notice(1, text="job 000012 (train) was preempted in us-x-b")])
    assert desk.texts() == [":zap: job 000012 (train) was preempted in us-x-b"]
    assert desk.messages()[0].pings == set()


async def test_an_owner_is_told_in_person_and_one_whom_nobody_knows_in_the_channel(
    desk: Desk,
) -> None:
    await desk.tells.deliver(
        [
            notice(1, to=Audience.OWNER, user="ada"),
            notice(2, to=Audience.OWNER, user="bob"),
            notice(3, to=Audience.OWNER, user="eve"),
        ]
    )
    assert desk.texts(desk.direct(desk.ada)) == [":zap: job 000001 slice 1: preempted"]
    assert desk.texts(desk.direct(desk.bob)) == [":zap: job 000002 slice 1: preempted"]
    assert desk.texts() == [":zap: job 000003 slice 1: preempted"]


async def test_a_recovery_is_told_in_the_message_of_the_loss(desk: Desk) -> None:
    await desk.tells.deliver([notice(1, about="a"), notice(2, about="b")])
    desk.later(minutes=4)
    await desk.tells.deliver([notice(3, RECOVERED, about="a", at=START + timedelta(minutes=4))])
    assert desk.texts() == [":zap: a: preempted: *recovered after 4m 0s*\n:zap: b: preempted"]
    assert desk.told() == [1, 2, 3]


async def test_a_recovery_is_told_in_place_after_a_restart_too(desk: Desk) -> None:
    await desk.tells.deliver([notice(1, about="a")])
    desk.restart()
    await desk.tells.deliver([notice(2, RECOVERED, about="a", at=START + timedelta(hours=2))])
    assert desk.texts() == [":zap: a: preempted: *recovered after 2h 0m*"]


async def test_a_recovery_days_after_is_news(desk: Desk) -> None:
    await desk.tells.deliver([notice(1, about="a")])
    desk.later(days=2)
    await desk.tells.deliver([notice(2, RECOVERED, about="a")])
    assert desk.texts() == [":zap: a: preempted", ":white_check_mark: a: recovered"]


async def test_the_end_of_a_preempted_job_is_told_in_the_message_of_the_loss(desk: Desk) -> None:
    await desk.tells.deliver([notice(1, about="a")])
    await desk.tells.deliver([notice(2, about="a", text="job 7 is over: preempted")])
    assert desk.texts() == [":zap: job 7 is over: preempted"]
    assert desk.told() == [1, 2]


async def test_a_failure_of_what_was_preempted_is_a_message_of_its_own(desk: Desk) -> None:
    await desk.tells.deliver([notice(1, about="a")])
    desk.later(minutes=1)
    await desk.tells.deliver([notice(2, FAILED, about="a")])
    assert desk.texts() == [":zap: a: preempted", ":x: a: failed"]


async def test_200_preemptions_in_batches_are_at_most_three_messages(desk: Desk) -> None:
    for first in range(1, 201, 20):
        await desk.tells.deliver(burst(20, first))
        desk.later(seconds=5)
    assert len(desk.messages()) <= MOST
    assert desk.told() == [*range(1, 201)]


async def test_a_failure_amid_many_preemptions_is_a_message_of_its_own(desk: Desk) -> None:
    for event in range(1, 11):
        await desk.tells.deliver([notice(event)])
        desk.later(seconds=30)
    await desk.tells.deliver([notice(11, FAILED, text="job 7 failed"), notice(12)])
    assert len(desk.texts()) == MOST + 1
    assert desk.texts()[-1].startswith(":x: job 7 failed")
    assert desk.told() == [*range(1, 13)]


async def test_of_a_burst_the_first_are_shown_and_the_rest_counted(desk: Desk) -> None:
    await desk.tells.deliver([*burst(200), notice(201, FAILED, text="job 7 failed")])
    (message,) = desk.messages()
    lines = message.plain.splitlines()
    assert lines[0] == ":x: *1 failed*"
    assert lines[2] == ":zap: *200 preempted*"
    assert lines[-1] == "and 190 more"


async def test_a_burst_is_brought_up_to_date_as_its_members_recover(desk: Desk) -> None:
    await desk.tells.deliver(burst(200))
    for event in range(1, 101):
        about = f"job {event:06d} slice 1"
        await desk.tells.deliver([notice(1000 + event, RECOVERED, about=about)])
    (message,) = desk.messages()
    assert ":zap: *200 preempted*, 100 recovered since" in message.plain


async def test_what_comes_again_is_told_once(desk: Desk) -> None:
    await desk.tells.deliver(burst(3))
    await desk.tells.deliver(burst(5))
    desk.restart()
    await desk.tells.deliver(burst(6))
    assert desk.told() == [1, 2, 3, 4, 5, 6]


async def test_while_slack_is_away_nothing_is_lost_and_it_is_one_message_after(desk: Desk) -> None:
    async with desk.slack.down():
        for count in (1, 2, 3, 4, 5, 6):
            await desk.tells.deliver(burst(count))
            desk.later(minutes=20)
    await desk.tells.deliver(burst(6))
    assert desk.told() == [1, 2, 3, 4, 5, 6]
    assert len(desk.messages()) == 1


async def test_a_lost_answer_repeats_nothing(desk: Desk) -> None:
    desk.slack.trouble("chat.postMessage", lost=True)
    await desk.tells.deliver(burst(2))
    await desk.tells.deliver(burst(3))
    assert desk.told() == [1, 2, 3]


async def test_a_lost_answer_in_a_busy_channel_repeats_nothing(desk: Desk) -> None:
    desk.slack.trouble("chat.postMessage", lost=True)
    await desk.tells.deliver([notice(1)])
    for number in range(450):
        await desk.sender.post(desk.lab, f"chat {number}")
    desk.restart()
    await desk.tells.deliver([notice(1)])
    assert desk.told() == [1]


async def test_what_slack_does_not_take_is_posted_once_it_does(desk: Desk) -> None:
    desk.slack.trouble("chat.postMessage", status=500)
    await desk.tells.deliver([notice(1)])
    desk.slack.trouble("chat.postMessage", status=429)
    for _ in range(2):
        with pytest.raises(SlackError):
            await desk.outbox.send(())
    desk.later(seconds=2)
    await desk.outbox.send(())
    assert desk.told() == [1]


@pytest.mark.parametrize("refused", ["invalid_arguments", "restricted_action_non_threadable"])
async def test_what_slack_refuses_for_good_keeps_nobody_from_the_rest(
    desk: Desk, refused: str
) -> None:
    desk.slack.trouble("chat.postMessage", error=refused)
    await desk.tells.deliver([notice(1), notice(2, to=Audience.OWNER)])
    assert desk.told() == [2]
    await desk.outbox.send(())
    assert desk.told() == [1, 2]


async def test_a_token_that_is_refused_is_tried_with_one_message_and_logged_once(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.slack.trouble("chat.postMessage", error="token_revoked", times=9)
    await desk.tells.deliver([notice(n, to=to) for n, to in enumerate(Audience, 1)])
    assert [method for method, *_ in desk.slack.calls].count("chat.postMessage") == 1
    with pytest.raises(SlackError):
        await desk.outbox.send(())
    (said,) = [record.getMessage() for record in caplog.records]
    assert "the token was revoked: install the app again" in said


async def test_for_a_person_who_is_gone_the_channel_is_told(desk: Desk) -> None:
    gone = desk.slack.world.person("old", gone=True)
    desk.config.people[gone] = "old"  # type: ignore[index]
    desk.restart()
    await desk.tells.deliver([notice(1, to=Audience.OWNER, user="old", about="a")])
    await desk.tells.deliver([notice(2, RECOVERED, to=Audience.OWNER, user="old", about="a")])
    assert desk.texts() == ["For old:\n:zap: a: preempted: *recovered after 0s*"]
    assert desk.told() == [1, 2]


async def test_a_channel_that_the_bot_is_not_in_keeps_no_owner_waiting(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.slack.world.channels[desk.lab].members.clear()
    await desk.tells.deliver([notice(1), notice(2, to=Audience.OWNER)])
    assert desk.told() == [2]
    desk.later(hours=1)
    await desk.tells.deliver([notice(3), notice(4, FAILED, to=Audience.OWNER)])
    assert desk.told() == [2, 4]
    assert [record.message.count("/invite") for record in caplog.records] == [1]
    await desk.sender.call("conversations.join", channel=desk.lab)
    await desk.outbox.send(())
    assert desk.told() == [1, 2, 3, 4]


async def test_a_message_that_slack_refuses_keeps_no_other_waiting(desk: Desk) -> None:
    desk.slack.trouble("chat.postMessage", error="a_rule_of_tomorrow")
    await desk.tells.deliver([notice(1), notice(2, to=Audience.OWNER)])
    assert desk.told() == [2]
    await desk.outbox.send(())
    assert desk.told() == [1, 2]


async def test_a_message_that_people_took_away_stays_away(desk: Desk) -> None:
    await desk.tells.deliver([notice(1, about="a")])
    desk.messages()[0].deleted = True
    await desk.tells.deliver([notice(2, RECOVERED, about="a")])
    await desk.tells.deliver([notice(2, RECOVERED, about="a")])
    assert desk.texts() == []


async def test_what_comes_after_a_message_was_taken_away_is_told_all_the_same(desk: Desk) -> None:
    for event in range(1, MOST + 1):
        await desk.tells.deliver([notice(event)])
        desk.later(seconds=10)
    desk.messages()[-1].deleted = True
    for event in (MOST + 1, MOST + 2):
        # It joins the last message, which is there no more.
        await desk.tells.deliver([notice(event)])
        desk.later(seconds=10)
    assert len(desk.messages()) == MOST
    assert f"job {MOST + 1:06d}" in desk.texts()[-1]
    assert f"job {MOST + 2:06d}" in desk.texts()[-1]


async def test_news_waits_for_slack_though_its_message_was_taken_away_meanwhile(desk: Desk) -> None:
    await desk.tells.deliver([notice(1, about="a")])
    desk.messages()[0].deleted = True
    desk.slack.trouble("chat.update", status=500)
    await desk.tells.deliver([notice(2, about="b")])
    assert desk.texts() == []
    await desk.tells.deliver([notice(3, RECOVERED, about="a")])
    assert desk.texts() == [":zap: a: preempted: *recovered after 0s*\n:zap: b: preempted"]


async def test_news_of_a_message_that_may_not_be_changed_any_more_is_told_in_another(
    desk: Desk,
) -> None:
    await desk.tells.deliver([notice(1)])
    desk.slack.trouble("chat.update", error="edit_window_closed")
    desk.slack.trouble("chat.postMessage", status=500)
    await desk.tells.deliver([notice(2)])
    desk.restart()
    await desk.outbox.send(())
    assert ["000002" in text for text in desk.texts()] == [False, True]


async def test_a_message_whose_form_slack_refuses_goes_as_plain_text(desk: Desk) -> None:
    desk.slack.trouble("chat.postMessage", error="invalid_blocks")
    kinds = (FAILED, PREEMPTED)
    await desk.tells.deliver([notice(n, kinds[n % 2], text="x" * 400) for n in range(30)])
    (message,) = desk.messages()
    assert message.text.startswith(":x: *15 failed*")
    assert message.blocks == []


async def test_a_message_that_slack_takes_in_no_form_is_left_out_and_logged(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.slack.trouble("chat.postMessage", error="msg_too_long")
    await desk.tells.deliver([notice(1)])
    await desk.outbox.send(())
    assert desk.texts() == []
    assert "about events [1]" in caplog.text


async def test_a_message_that_says_much_is_brought_up_to_date_as_well(desk: Desk) -> None:
    kinds = (FAILED, PREEMPTED, NoticeKind.STUCK)
    many = [
        notice(event, kinds[event % 3], about=f"{event}", text=f"{event} " + "&" * 400)
        for event in range(30)
    ]
    await desk.tells.deliver(many)
    (message,) = desk.messages()
    assert ":zap: *10 preempted*" in message.plain
    assert ":hourglass: *10 waiting for long*" in message.plain
    await desk.tells.deliver([notice(31, RECOVERED, about="1")])
    (message,) = desk.messages()
    assert "1 recovered since" in message.plain


@pytest.mark.parametrize(
    "text",
    ["<!channel> <@U0001> *x*", "a\nb\x00c", "x" * 40_000, "```", "&lt;!here&gt;", "\u202e"],
)
async def test_hostile_texts_are_one_harmless_line(desk: Desk, text: str) -> None:
    await desk.tells.deliver([notice(1, text=text)])
    (message,) = desk.messages()
    assert message.pings == set()
    assert len(message.text) < 500
    assert "\n" not in message.text


async def test_what_is_older_than_a_week_is_forgotten(desk: Desk) -> None:
    await desk.tells.deliver(burst(2))
    desk.later(days=8)
    await desk.tells.deliver(burst(1, 3))
    kept = await desk.app.recall("slack")
    assert len([key for key in kept if key.startswith("news/")]) == 1
    assert len([key for key in kept if key.startswith("sent/")]) == 1


@pytest.mark.parametrize("after", [False, True])
async def test_wherever_it_is_killed_nothing_is_lost_and_nothing_is_repeated(
    desk: Desk, after: bool
) -> None:
    last, step = 0, 0
    while True:
        step += 1
        fate = Fate(step, after)
        desk.restart(fate)
        first = last + 1
        last = first + 4
        batch = [
            notice(first, about=f"job {first}"),
            notice(first + 1, to=Audience.OWNER),
            notice(first + 2, FAILED, to=Audience.OWNER, user="bob"),
        ]
        more = [notice(first + 3, RECOVERED, about=f"job {first}"), notice(first + 4)]
        desk.later(minutes=11)
        done: list[int] = []
        for part in (batch, more):
            while len(done) < (1 if part is batch else 2):
                try:
                    await desk.tells.deliver(part)
                    done.append(1)
                except Killed:
                    desk.restart()
        assert desk.told() == [*range(1, last + 1)], f"killed at step {step}"
        if fate.taken < step:
            assert step > 12
            return


async def test_without_the_scope_for_direct_messages_the_channel_is_told(desk: Desk) -> None:
    desk.slack.scopes -= {"im:write"}
    await desk.tells.deliver([notice(1, to=Audience.OWNER), notice(2)])
    assert desk.told() == [1, 2]
    assert len(desk.slack.read(desk.lab)) == 2


async def test_without_the_scope_to_read_channels_nothing_waits_for_that(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.slack.scopes -= {"channels:history", "groups:history", "im:history"}
    desk.slack.trouble("chat.postMessage", lost=True)
    await desk.tells.deliver([notice(1)])
    await desk.outbox.send(())
    # It cannot be known that it stands there.
    assert desk.told() == [1, 1]
    assert "a message may come twice" in caplog.text
