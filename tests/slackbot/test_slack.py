"""What goes to Slack: at its pace, again where that helps, never twice where it counts."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.support.slack import LoopbackSlack
from tests.support.slack.server import APP_TOKEN, BOT_TOKEN

from jobman_slackbot.connection import connection
from jobman_slackbot.errors import SlackError
from jobman_slackbot.slack import Slack
from jobman_slackbot.tokens import Tokens


class Time:
    """A clock that nobody waits for."""

    def __init__(self) -> None:
        self.at = 1000.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds
        await asyncio.sleep(0)


@pytest.fixture
async def loopback(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LoopbackSlack]:
    async with LoopbackSlack() as found:
        monkeypatch.setenv("SLACK_API_URL", f"{found.url}/api/")
        yield found


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
async def slack(loopback: LoopbackSlack, time: Time) -> AsyncIterator[Slack]:
    async with connection(Tokens(BOT_TOKEN, APP_TOKEN)) as client:
        yield Slack(client, now=time.now, sleep=time.sleep)


@pytest.fixture
def ada(loopback: LoopbackSlack) -> str:
    return loopback.world.person("ada")


@pytest.fixture
def lab(loopback: LoopbackSlack, ada: str) -> str:
    return loopback.world.channel("lab")


def read(loopback: LoopbackSlack, channel: str) -> list[str]:
    return [message.plain for message in loopback.read(channel)]


async def test_messages_of_a_channel_are_a_second_apart_and_others_do_not_wait(
    slack: Slack, loopback: LoopbackSlack, time: Time, lab: str
) -> None:
    other = loopback.world.channel("other")
    for text in ("one", "two", "three"):
        await slack.post(lab, text)
    assert time.slept == [1.0, 1.0]
    await slack.post(other, "at once")
    assert time.slept == [1.0, 1.0]
    assert read(loopback, lab) == ["one", "two", "three"]


async def test_a_message_is_put_in_the_place_of_another(
    slack: Slack, loopback: LoopbackSlack, lab: str
) -> None:
    stamp = await slack.post(lab, "preempted", metadata={"event_type": "e", "event_payload": {}})
    await slack.update(lab, stamp, "preempted, recovered after 4 min")
    assert read(loopback, lab) == ["preempted, recovered after 4 min"]
    found = await slack.seek(lab, "0", lambda message: "metadata" in message)
    assert found is not None
    assert found["ts"] == stamp


async def test_a_whisper_is_for_one(
    slack: Slack, loopback: LoopbackSlack, ada: str, lab: str
) -> None:
    await slack.whisper(lab, ada, "only you")
    assert read(loopback, lab) == []
    assert [message.plain for message in loopback.read(lab, ada)] == ["only you"]


async def test_an_owner_is_told_directly(slack: Slack, loopback: LoopbackSlack, ada: str) -> None:
    channel = await slack.direct(ada)
    await slack.post(channel, "your job")
    assert await slack.direct(ada) == channel
    assert [method for method, *_ in loopback.calls].count("conversations.open") == 1
    assert read(loopback, channel) == ["your job"]


async def test_a_file_is_shared_once(slack: Slack, loopback: LoopbackSlack, lab: str) -> None:
    await slack.upload(lab, "day.png", b"picture", title="The day", comment="yesterday")
    (message,) = loopback.read(lab)
    (file,) = message.files
    assert (file.name, file.title, file.content) == ("day.png", "The day", b"picture")
    assert loopback.violations == []


async def test_slack_is_left_alone_for_as_long_as_it_says(
    slack: Slack, loopback: LoopbackSlack, time: Time, lab: str
) -> None:
    loopback.trouble("chat.postMessage", status=429, retry_after=7)
    await slack.post(lab, "one")
    assert time.slept == [7.0]
    assert read(loopback, lab) == ["one"]


async def test_slack_is_not_asked_while_it_wants_to_be_left_alone_for_long(
    slack: Slack, loopback: LoopbackSlack, time: Time, lab: str
) -> None:
    loopback.trouble("chat.postMessage", status=429, retry_after=300)
    for left in (300.0, 300.0):
        with pytest.raises(SlackError, match="ratelimited") as caught:
            await slack.post(lab, "one")
        assert caught.value.after == pytest.approx(left, abs=5)
    assert read(loopback, lab) == []
    await time.sleep(290.0)
    await slack.post(lab, "one")
    assert sum(time.slept) == pytest.approx(300, abs=5)
    assert read(loopback, lab) == ["one"]


async def test_no_answer_keeps_the_bot_silent_for_years(
    slack: Slack, loopback: LoopbackSlack, time: Time, lab: str
) -> None:
    loopback.trouble("chat.postMessage", status=429, retry_after=10**12)
    with pytest.raises(SlackError, match="ratelimited"):
        await slack.post(lab, "one")
    await time.sleep(3601.0)
    await slack.post(lab, "one")
    assert read(loopback, lab) == ["one"]


async def test_a_post_whose_answer_is_lost_is_not_posted_again(
    slack: Slack, loopback: LoopbackSlack, time: Time, lab: str
) -> None:
    loopback.trouble("chat.postMessage", lost=True)
    with pytest.raises(SlackError) as caught:
        await slack.post(lab, "one")
    assert (caught.value.unsure, caught.value.lasting) == (True, False)
    assert read(loopback, lab) == ["one"]
    assert time.slept == []


async def test_a_page_in_place_of_an_answer_leaves_it_open_whether_it_was_posted(
    slack: Slack, loopback: LoopbackSlack, lab: str
) -> None:
    loopback.trouble("chat.postMessage", status=200)
    with pytest.raises(SlackError, match="the answer is none of Slack's") as caught:
        await slack.post(lab, "one")
    assert (caught.value.unsure, caught.value.lasting) == (True, False)


@pytest.mark.parametrize(
    "trouble", [{"lost": True}, {"status": 503}, {"status": 200}, {"error": "fatal_error"}]
)
async def test_what_may_be_done_twice_is_asked_for_again(
    slack: Slack, loopback: LoopbackSlack, lab: str, trouble: dict[str, object]
) -> None:
    stamp = await slack.post(lab, "one")
    loopback.trouble("chat.update", **trouble)
    await slack.update(lab, stamp, "two")
    assert read(loopback, lab) == ["two"]


async def test_a_post_that_never_left_is_posted_once_slack_is_there(
    slack: Slack, loopback: LoopbackSlack, time: Time, lab: str
) -> None:
    await loopback.go_down()
    come_back = time.sleep

    async def sleep(seconds: float) -> None:
        await come_back(seconds)
        if len(time.slept) == 3:
            await loopback.come_back()

    slack._sleep = sleep
    await slack.post(lab, "one")
    assert read(loopback, lab) == ["one"]
    assert len(time.slept) == 3


async def test_who_asked_is_told_when_slack_stays_away(
    slack: Slack, loopback: LoopbackSlack, time: Time, lab: str
) -> None:
    await loopback.go_down()
    with pytest.raises(SlackError, match=r"chat.postMessage: no answer .*: it is tried again"):
        await slack.post(lab, "one")
    assert 20 < sum(time.slept) <= 60


async def test_a_refusal_says_what_to_do_and_is_not_repeated(
    slack: Slack, loopback: LoopbackSlack, lab: str
) -> None:
    with pytest.raises(SlackError) as caught:
        await slack.post("C404", "one")
    assert caught.value.lasting
    assert str(caught.value) == (
        "Slack refused chat.postMessage: channel_not_found: check the channel's id, and invite "
        "the bot to it: /invite @jobman"
    )
    assert len(loopback.calls) == 1


async def test_no_error_has_a_token(slack: Slack, loopback: LoopbackSlack, lab: str) -> None:
    loopback.bot_tokens.clear()
    with pytest.raises(SlackError) as caught:
        await slack.post(lab, "one")
    assert caught.value.code == "invalid_auth"
    assert BOT_TOKEN not in f"{caught.value!r} {caught.value}"


async def test_the_bot_knows_who_it_is(slack: Slack) -> None:
    who = await slack.identity()
    assert (who.team, who.name) == ("Loopback", "jobman")
    assert "chat:write" in who.scopes
