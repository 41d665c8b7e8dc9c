"""A queue of ten thousand tasks, through the real bot."""

import re

import pytest
from tests.support.bots import BotLab

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


async def test_ten_thousand_tasks_are_paged_in_place_also_after_a_restart(bots: BotLab) -> None:
    tasks = "".join(f"    - {{id: task-{n:05}, run: 'true'}}\n" for n in range(10_000))
    bots.lab.write("tasks.yaml", f"accelerators:\n  v4-8:\n    tasks:\n{tasks}")
    await bots.create("ada", "worker", queue="tasks.yaml")
    await bots.start()
    page = await bots.ask(bots.ada, "queue", limit=120)
    assert "10,000 tasks" in page.plain
    first = set(re.findall(r"task-\d{5}", page.plain))
    assert len(first) > 20

    async def turn(button: str) -> set[str]:
        edits = len(page.edits)
        await bots.slack.press(bots.ada, page, button)
        await bots.until(lambda: len(page.edits) > edits, f"the page after {button}")
        return set(re.findall(r"task-\d{5}", page.plain))

    second = await turn("Next")
    assert second
    assert not first & second
    await bots.kill()
    await bots.start()
    last = await turn("Last")
    assert "task-09999" in last
    assert not last & (first | second)
    assert await turn("First") == first
    # Only who asked sees it, and it stays one message.
    assert bots.told() == []
    assert len([m for m in bots.slack.world.messages() if m.only_to == bots.ada]) == 1
