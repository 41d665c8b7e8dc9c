"""The loopback Slack against the SDK that talks to the real one."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientError
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from tests.support.slack import LoopbackSlack
from tests.support.slack.render import save
from tests.support.slack.server import APP_TOKEN, BOT_TOKEN


@pytest.fixture
async def slack() -> AsyncIterator[LoopbackSlack]:
    async with LoopbackSlack() as found:
        yield found


@pytest.fixture
def client(slack: LoopbackSlack) -> AsyncWebClient:
    return AsyncWebClient(BOT_TOKEN, base_url=f"{slack.url}/api/")


@pytest.fixture
def ada(slack: LoopbackSlack) -> str:
    return slack.world.person("ada")


@pytest.fixture
def lab(slack: LoopbackSlack, ada: str) -> str:
    return slack.world.channel("lab")


@contextlib.asynccontextmanager
async def connected(slack: LoopbackSlack, client: AsyncWebClient) -> AsyncIterator[AsyncApp]:
    app = AsyncApp(client=client)
    handler = AsyncSocketModeHandler(app, APP_TOKEN, ping_interval=0.2)
    await handler.connect_async()  # type: ignore[no-untyped-call]
    try:
        yield app
    finally:
        await handler.close_async()  # type: ignore[no-untyped-call]


def button(text: str, action: str, **more: Any) -> dict[str, Any]:
    label = {"type": "plain_text", "text": text}
    return {"type": "button", "text": label, "action_id": action, **more}


def archive(slack: LoopbackSlack) -> None:
    for channel in slack.world.channels.values():
        channel.archived = True


async def refused(call: Any) -> Any:
    with pytest.raises(SlackApiError) as error:
        await call
    return error.value.response


async def test_a_message_is_seen_updated_and_deleted(
    slack: LoopbackSlack, client: AsyncWebClient, lab: str
) -> None:
    posted = await client.chat_postMessage(channel=lab, text="one &lt;b&gt;")
    assert [m.plain for m in slack.read(lab)] == ["one <b>"]
    await client.chat_update(channel=lab, ts=posted["ts"], text="two")
    (message,) = slack.read(lab)
    assert (message.plain, [m.plain for m in message.edits]) == ("two", ["one <b>"])
    await client.chat_delete(channel=lab, ts=posted["ts"])
    assert slack.read(lab) == []


async def test_a_message_to_a_person_is_a_direct_one(
    slack: LoopbackSlack, client: AsyncWebClient, ada: str
) -> None:
    opened = await client.conversations_open(users=[ada])
    posted = await client.chat_postMessage(channel=ada, text="psst")
    assert posted["channel"] == opened["channel"]["id"]


async def test_only_one_sees_what_is_for_one(
    slack: LoopbackSlack, client: AsyncWebClient, ada: str, lab: str
) -> None:
    await client.chat_postEphemeral(channel=lab, user=ada, text="psst")
    assert (slack.read(lab), [m.plain for m in slack.read(lab, ada)]) == ([], ["psst"])


async def test_history_gives_the_newest_first_with_what_was_put_beside_it(
    slack: LoopbackSlack, client: AsyncWebClient, lab: str
) -> None:
    for number in range(5):
        metadata = {"event_type": "jobman_notice", "event_payload": {"number": number}}
        await client.chat_postMessage(channel=lab, text=str(number), metadata=metadata)
    page = await client.conversations_history(channel=lab, limit=2, include_all_metadata=True)
    assert [m["metadata"]["event_payload"]["number"] for m in page["messages"]] == [4, 3]
    cursor = page["response_metadata"]["next_cursor"]
    rest = await client.conversations_history(channel=lab, cursor=cursor)
    assert [m["text"] for m in rest["messages"]] == ["2", "1", "0"]
    assert "metadata" not in rest["messages"][0]


async def test_a_file_comes_by_three_calls(
    slack: LoopbackSlack, client: AsyncWebClient, lab: str
) -> None:
    await client.files_upload_v2(
        channel=lab, content=b"\x89PNG", filename="day.png", title="The day", initial_comment="look"
    )
    (message,) = slack.read(lab)
    assert (message.plain, message.files[0].content) == ("look\n(The day)", b"\x89PNG")
    assert slack.violations == []


@pytest.mark.parametrize(
    ("spoil", "error"),
    [
        (lambda s: s.bot_tokens.clear(), "invalid_auth"),
        (lambda s: s.scopes.discard("chat:write"), "missing_scope"),
        (lambda s: s.trouble("chat.postMessage", error="fatal_error"), "fatal_error"),
        (lambda s: s.world.channels.clear(), "channel_not_found"),
        (lambda s: [c.members.clear() for c in s.world.channels.values()], "not_in_channel"),
        (
            archive,
            "is_archived",
        ),
    ],
)
async def test_it_refuses_as_slack_does(
    slack: LoopbackSlack, client: AsyncWebClient, lab: str, spoil: Any, error: str
) -> None:
    spoil(slack)
    assert (await refused(client.chat_postMessage(channel=lab, text="x")))["error"] == error


async def test_who_writes_too_fast_is_told_how_long_to_wait(
    slack: LoopbackSlack, client: AsyncWebClient, lab: str
) -> None:
    slack.rate.burst, slack.rate.per_second = 2, 0.001
    for _ in range(2):
        await client.chat_postMessage(channel=lab, text="x")
    answer = await refused(client.chat_postMessage(channel=lab, text="x"))
    assert (answer.status_code, int(answer.headers["Retry-After"]) > 0) == (429, True)


async def test_an_answer_that_is_lost_leaves_the_message(
    slack: LoopbackSlack, client: AsyncWebClient, lab: str
) -> None:
    client.retry_handlers.clear()
    slack.trouble("chat.postMessage", lost=True)
    with pytest.raises(ClientError):
        await client.chat_postMessage(channel=lab, text="taken")
    assert [m.plain for m in slack.read(lab)] == ["taken"]


async def test_while_it_is_down_nobody_answers_and_then_it_is_at_the_same_place(
    slack: LoopbackSlack, client: AsyncWebClient, lab: str
) -> None:
    client.retry_handlers.clear()
    async with slack.down():
        with pytest.raises(ClientError):
            await client.auth_test()
    assert (await client.auth_test())["ok"]


async def test_a_command_is_acknowledged_and_answered(
    slack: LoopbackSlack, client: AsyncWebClient, ada: str, lab: str
) -> None:
    async with connected(slack, client) as app:

        @app.command("/jobman")
        async def _(ack: Any, respond: Any, command: Any) -> None:
            await ack()
            await respond(f"you said {command['text']}")

        answer = await slack.ask(ada, lab, "/jobman list all")
        assert (answer.plain, answer.only_to) == ("you said list all", ada)


async def test_a_command_that_nobody_acknowledges_comes_again_and_then_fails(
    slack: LoopbackSlack, client: AsyncWebClient, ada: str, lab: str
) -> None:
    slack.sockets.patience = 0.2
    heard = 0
    assert (await slack.command(ada, lab, "/jobman list")).failed == "dispatch_failed"
    async with connected(slack, client) as app:

        @app.command("/jobman")
        async def _(ack: Any) -> None:
            nonlocal heard
            heard += 1

        envelope = await slack.command(ada, lab, "/jobman list")
        assert (envelope.failed, envelope.sent, heard) == ("operation_timeout", 2, 2)


async def test_a_button_is_pressed_and_its_message_replaced(
    slack: LoopbackSlack, client: AsyncWebClient, ada: str, lab: str
) -> None:
    async with connected(slack, client) as app:

        @app.action("stop")
        async def _(ack: Any, respond: Any, action: Any) -> None:
            await ack()
            await respond(f"stopped {action['value']}", replace_original=True)

        blocks = [{"type": "actions", "elements": [button("Stop", "stop", value="000001")]}]
        await client.chat_postEphemeral(channel=lab, user=ada, text="stop it?", blocks=blocks)
        (message,) = slack.read(lab, ada)
        assert message.plain == "[Stop]"
        await slack.press(ada, message, "Stop")
        await slack.wait_for(lambda: message.plain == "stopped 000001")


async def test_a_modal_is_opened_in_time_and_sent_off(
    slack: LoopbackSlack, client: AsyncWebClient, ada: str, lab: str
) -> None:
    sent = asyncio.Event()
    field = {"type": "plain_text_input", "action_id": "why"}
    label = {"type": "plain_text", "text": "Why"}
    view = {
        "type": "modal",
        "callback_id": "reason",
        "title": {"type": "plain_text", "text": "Stop"},
        "submit": {"type": "plain_text", "text": "Stop"},
        "blocks": [{"type": "input", "block_id": "b", "label": label, "element": field}],
    }
    async with connected(slack, client) as app:

        @app.command("/jobman")
        async def _(ack: Any, client: AsyncWebClient, command: Any) -> None:
            await ack()
            await client.views_open(trigger_id=command["trigger_id"], view=view)

        @app.view("reason")
        async def _(ack: Any, view: Any) -> None:
            assert view["state"]["values"]["b"]["why"]["value"] == "too dear"
            await ack()
            sent.set()

        await slack.command(ada, lab, "/jobman stop 1")
        opened = (await slack.wait_for(lambda: slack.world.views))[0]
        await slack.submit(ada, opened, {"why": "too dear"})
        await asyncio.wait_for(sent.wait(), 5)


async def test_the_bot_hears_who_calls_it(
    slack: LoopbackSlack, client: AsyncWebClient, ada: str, lab: str
) -> None:
    async with connected(slack, client) as app:

        @app.event("app_mention")
        async def _(say: Any) -> None:
            await say("yes?")

        await slack.say(ada, lab, "<@U00BOT000> hello")
        await slack.wait_for(lambda: [m.plain for m in slack.read(lab)][1:] == ["yes?"])


@pytest.mark.parametrize("cut", ["drop", "refresh"])
async def test_who_lost_the_socket_comes_back(
    slack: LoopbackSlack, client: AsyncWebClient, ada: str, lab: str, cut: str
) -> None:
    async with connected(slack, client) as app:

        @app.command("/jobman")
        async def _(ack: Any) -> None:
            await ack("still here")

        await slack.connected()
        await getattr(slack.sockets, cut)()
        await slack.wait_for(lambda: slack.sockets.opened >= 2 and len(slack.sockets.open) == 1)
        assert (await slack.ask(ada, lab, "/jobman list")).plain == "still here"


async def test_what_is_sent_twice_is_heard_twice(
    slack: LoopbackSlack, client: AsyncWebClient, ada: str, lab: str
) -> None:
    slack.sockets.twice = True
    async with connected(slack, client) as app:

        @app.command("/jobman")
        async def _(ack: Any, say: Any) -> None:
            await ack()
            await say("here")

        await slack.command(ada, lab, "/jobman list")
        await slack.wait_for(lambda: len(slack.read(lab)) == 2)


def section(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}, **more}


def actions(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"type": "actions", "elements": list(elements)}


def table(*rows: list[str]) -> dict[str, Any]:
    cells = [[{"type": "raw_text", "text": text} for text in row] for row in rows]
    return {"type": "table", "rows": cells}


def confirm(**more: str) -> dict[str, Any]:
    words = {"title": "Sure?", "confirm": "Yes", "deny": "No", **more}
    return {k: {"type": "plain_text", "text": v} for k, v in words.items()}


HEADER = {"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}
ASK = {"text": {"type": "mrkdwn", "text": "Stop it?"}}


@pytest.mark.parametrize(
    ("blocks", "error", "fault"),
    [
        ([section("x")] * 51, "invalid_blocks", "no more than 50 items"),
        ([section("x" * 3001)], "invalid_blocks", "less than 3001 characters"),
        ([section("")], "invalid_blocks", "more than 0 characters"),
        ([section("nul \0")], "invalid_blocks", "character '\\x00'"),
        ([section("x", colour="red")], "invalid_blocks", "additional property: colour"),
        ([HEADER], "invalid_blocks", "less than 151"),
        ([actions(button("x" * 76, "a"))], "invalid_blocks", "less than 76"),
        ([actions(button("x", "a", value="x" * 2001))], "invalid_blocks", "less than 2001"),
        ([actions(button("x", "a"), button("y", "a"))], "invalid_blocks", "not unique"),
        ([actions(*(button("x", str(n)) for n in range(26)))], "invalid_blocks", "more than 25"),
        (
            [actions(button("x", "a", confirm=confirm(title="x" * 101) | ASK))],
            "invalid_blocks",
            "less than 101",
        ),
        ([actions(button("x", "a", confirm=confirm()))], "invalid_blocks", "field: text"),
        ([table(*[["x"]] * 101)], "invalid_blocks", "no more than 100 items"),
        ([table(["x"] * 21)], "invalid_blocks", "no more than 20 items"),
        ([table([""])], "invalid_blocks", "more than 0 characters"),
        ([table(["x" * 2600] * 4)], "invalid_blocks", "10000 characters in all cells"),
        ([table(["x"]), table(["y"])], "invalid_blocks", "only_one_table_allowed"),
        ([section("x" * 2900)] * 5, "msg_blocks_too_long", "characters"),
        ([{"type": "input"}], "invalid_blocks", "unsupported type: input"),
    ],
)
async def test_what_is_too_much_is_refused_in_slacks_words_and_remembered(
    slack: LoopbackSlack, client: AsyncWebClient, *, lab: str, blocks: Any, error: str, fault: str
) -> None:
    answer = await refused(client.chat_postMessage(channel=lab, text="x", blocks=blocks))
    assert answer["error"] == error
    assert fault in answer["response_metadata"]["messages"][0]
    assert fault in slack.violations[0]


async def test_what_fits_is_taken(slack: LoopbackSlack, client: AsyncWebClient, lab: str) -> None:
    blocks = [
        {"type": "header", "text": {"type": "plain_text", "text": "x" * 150}},
        table(*[["cell"] * 8] * 100),
        actions(button("Stop", "stop", value="x" * 2000, confirm=confirm() | ASK, style="danger")),
    ]
    await client.chat_postMessage(channel=lab, text="x" * 4_000, blocks=blocks)
    assert slack.violations == []


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("<!channel> <@U123> &lt;!here&gt;", {"channel", "U123"}),
        ("`<!everyone>`", {"everyone"}),
        ("@channel <#C123> <https://x.example|x> <!date^1^{date}|then>", set()),
    ],
)
async def test_it_knows_whom_a_message_calls(
    slack: LoopbackSlack, client: AsyncWebClient, lab: str, text: str, calls: set[str]
) -> None:
    await client.chat_postMessage(channel=lab, text="x", blocks=[section(text)])
    assert slack.read(lab)[0].pings == calls


async def test_what_people_see_becomes_a_page_in_which_nothing_of_a_message_is_markup(
    slack: LoopbackSlack, client: AsyncWebClient, lab: str, tmp_path: Path
) -> None:
    text = "*bold* `code` &lt;script&gt; <!channel> <https://x.example|there>"
    blocks = [section(text), table(["id", "<b>"]), actions(button("Stop", "stop"))]
    await client.chat_postMessage(channel=lab, text="x", blocks=blocks)
    shown = save(tmp_path / "lab.html", slack.read(lab)).read_text(encoding="utf-8")
    assert "<b>bold</b> <code>code</code> &lt;script&gt; <span class=call>@channel</span>" in shown
    assert "<td>&lt;b&gt;</td>" in shown
    assert "<button class=plain>Stop</button>" in shown
