"""Who may do what, through the real bot: at the command, and again at the button."""

import pytest
from tests.support.bots import BotLab

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

#: Every command, where it only shows something, with a word of its answer.
SHOWS = {
    "help": "/jobman list",
    "help stop": "stop",
    "list": "000001",
    "list mine": "job",
    "list all": "000001",
    "queue": "queue",
    "show 1": "first",
    "logs 1": "",
    "usage": "",
    "usage week me": "",
    "quota": "",
}
STEERS = ("stop", "resume", "reboot", "requeue")
TASKS_FILE = """
    accelerators:
      v4-8:
        tasks:
          - {id: one, run: 'true'}
    """
TASKS = ("prioritize", "reset", "done")


def asks(said: str) -> bool:
    """Whether an answer has a button that does something."""
    return "[Not now]" in said


async def test_everybody_who_is_known_sees_everything_and_others_learn_only_how_to_be_added(
    bots: BotLab,
) -> None:
    await bots.start()
    for text, word in SHOWS.items():
        answer = await bots.ask(bots.vera, text)
        assert answer.only_to == bots.vera, text
        assert word in answer.plain, text
    said = {(await bots.ask(bots.eve, text)).plain for text in ("list", "stop 1", "help", "x")}
    assert len(said) == 1
    (told,) = said
    assert bots.eve in told
    assert "000001" not in told
    told = (await bots.ask(bots.ada, "list", bots.elsewhere)).plain
    assert "@C" in told or "#C" in told or "lab" in told
    assert "000001" not in told
    direct = bots.slack.world.talk_with(bots.ada).id
    assert "000001" in (await bots.ask(bots.ada, "list", direct)).plain
    assert bots.told() == []


async def test_each_role_may_change_what_it_may(bots: BotLab) -> None:
    theirs = await bots.create("bob", "theirs")
    bots.lab.write("tasks.yaml", TASKS_FILE)
    await bots.create("ada", "worker", queue="tasks.yaml")
    await bots.start()
    for word in STEERS:
        assert not asks((await bots.ask(bots.vera, f"{word} {theirs}")).plain), word
        assert not asks((await bots.ask(bots.ada, f"{word} {theirs}")).plain), word
        assert asks((await bots.ask(bots.bob, f"{word} {theirs}")).plain), word
        assert asks((await bots.ask(bots.olga, f"{word} {theirs}")).plain), word
    for who, may in ((bots.vera, 0), (bots.ada, 0), (bots.olga, 0), (bots.bob, 1), (bots.root, 1)):
        assert asks((await bots.ask(who, f"delete {theirs}")).plain) == bool(may), who
    for word in TASKS:
        assert not asks((await bots.ask(bots.vera, f"{word} one")).plain), word
        assert asks((await bots.ask(bots.olga, f"{word} one")).plain), word
    for who in (bots.vera, bots.ada, bots.olga):
        assert "may not" in (await bots.ask(who, "reap")).plain
    # To be asked is not to have done it.
    assert bots.told() == []
    assert await bots.status(theirs) == "DEAD"


async def test_rights_that_were_taken_away_are_gone_at_the_button_as_well(bots: BotLab) -> None:
    theirs = await bots.create("bob", "theirs")
    await bots.start()
    question = await bots.ask(bots.olga, f"resume {theirs}")
    await bots.stop()
    bots.configure(operators=[])
    await bots.start()
    await bots.slack.press(bots.olga, question, "do")
    await bots.reads("belongs to bob", bots.olga)
    assert await bots.status(theirs) == "DEAD"
