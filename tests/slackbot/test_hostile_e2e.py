"""Texts that mean no good, through the real bot: in commands, names of tasks, and logs."""

import pytest
from tests.support.bots import BotLab

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

COMMANDS = (
    "list &lt;!channel&gt;",
    "show ../../../etc/passwd",
    "logs /etc/passwd",
    "queue /etc/passwd",
    "queue ../tasks.yaml",
    "stop $(touch /tmp/oops) ; `id`",
    "done <@U123> '; DROP TABLE jobs",
    "usage nul \0 bidi \u202e end",
    "xyzzy " + "x" * 40_000,
    "delete " + " ".join(map(str, range(500))),
    "\u200b\u200b",
    '"',
)
TASKS = """
accelerators:
  v4-8:
    tasks:
      - {id: '<!channel> <@U123>', run: 'true'}
      - {id: '*bold* _it_ ~no~ `code` ```', run: 'true'}
      - {id: '&lt;!here&gt; | a | b', run: 'true'}
      - {id: 'LONG', run: 'true'}
"""


async def test_whatever_is_written_calls_nobody_and_is_answered_in_a_line(bots: BotLab) -> None:
    bots.lab.write("tasks.yaml", TASKS.replace("LONG", "x" * 150))
    await bots.create("ada", "worker", queue="tasks.yaml")
    await bots.start()
    for text in COMMANDS:
        answer = await bots.ask(bots.ada, text)
        assert answer.only_to == bots.ada, text
        assert "root:" not in answer.plain, text
    shown = await bots.ask(bots.ada, "queue")
    assert "<!channel> <@U123>" in shown.plain
    for number, task in enumerate(
        ("&lt;!channel&gt; &lt;@U123&gt;", "*bold* _it_ ~no~ `code` ```")
    ):
        question = await bots.ask(bots.ada, f'prioritize "{task}"')
        assert "[Not now]" in question.plain, question.plain
        await bots.slack.press(bots.ada, question, "do")
        await bots.hears(number + 1)
    calls = {ping for m in bots.slack.world.messages() for ping in m.pings}
    assert calls == set()


async def test_a_log_of_anything_is_shown_and_a_long_one_comes_as_a_file(bots: BotLab) -> None:
    noise = r"printf 'nul \000 <!channel> ``` \033[31mred\n'"
    script = f"{noise}; seq 100000 | tr -d '\\n' | head -c 40000; echo; {noise}"
    job = await bots.create("ada", "noisy", cmd=script, start=True)
    await bots.start()
    await bots.until_status(job, "DONE")
    short = await bots.ask(bots.ada, f"logs {job} 1")
    assert "<!channel>" in short.plain
    assert "\0" not in short.plain
    await bots.ask(bots.ada, f"logs {job} 1000")
    direct = bots.slack.world.talk_with(bots.ada)
    await bots.until(lambda: any(m.files for m in direct.messages), "a file comes")
    assert {ping for m in bots.slack.world.messages() for ping in m.pings} == set()
