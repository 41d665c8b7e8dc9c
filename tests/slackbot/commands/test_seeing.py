"""What people see of jobs and queues."""

import pytest
from tests.slackbot.commands.conftest import Room


async def test_a_stranger_is_told_how_to_be_added_and_nothing_more(room: Room) -> None:
    await room.job()
    for text in ("list", "help", "delete 1", "xyzzy"):
        answer = await room.ask(room.eve, text)
        assert answer.only_to == room.eve
        assert f"to add your id to bot.yaml: {room.eve}" in answer.plain.replace("`", "")
        assert "train" not in answer.plain


async def test_in_a_wrong_channel_people_are_told_where(room: Room) -> None:
    answer = await room.ask(room.ada, "list", room.elsewhere)
    assert answer.only_to == room.ada
    assert "Commands are taken in" in answer.plain


async def test_in_direct_messages_commands_are_taken(room: Room) -> None:
    job = await room.job()
    assert job in (await room.ask(room.ada, "list", room.slack.world.talk_with(room.ada).id)).plain


async def test_help_is_for_who_asked_and_has_what_they_may(room: Room) -> None:
    for text in ("", "help"):
        answer = await room.ask(room.vera, text)
        assert answer.only_to == room.vera
        assert "/jobman logs ID|TASK [lines]" in answer.plain
        assert "/jobman delete" not in answer.plain
    assert "/jobman reap" in (await room.ask(room.root_, "help")).plain
    assert "/jobman logs 12 100" in (await room.ask(room.ada, "help logs")).plain


async def test_what_is_misspelt_is_guessed_and_told_to_who_wrote_it(room: Room) -> None:
    answer = await room.ask(room.ada, "lst")
    assert answer.only_to == room.ada
    assert "did you mean `list`?" in answer.plain


async def test_a_list_has_the_jobs_of_all_or_of_who_asked(room: Room) -> None:
    assert "no jobs" in (await room.ask(room.ada, "list")).plain
    hers, his = await room.job("ada"), await room.job("bob")
    answer = await room.ask(room.ada, "list")
    assert answer.only_to == room.ada
    assert hers in answer.plain
    assert his in answer.plain
    assert his not in (await room.ask(room.ada, "list mine")).plain
    await room.app.acting_for("ada").delete(hers)
    assert "list all" in (await room.ask(room.ada, "list mine")).plain
    assert hers in (await room.ask(room.ada, "list all")).plain


async def test_a_job_is_shown_by_its_last_digits(room: Room) -> None:
    job = await room.job()
    answer = await room.ask(room.vera, f"show {int(job)}")
    assert answer.only_to == room.vera
    assert f"{job} train" in answer.plain
    assert "created" in answer.plain
    assert "no job" in (await room.ask(room.vera, "show 77")).plain


async def test_a_queue_is_found_by_name_and_never_by_a_path_of_a_message(room: Room) -> None:
    assert "no queue" in (await room.ask(room.ada, "queue")).plain
    await room.queue("one", "two")
    (room.root / "secret.yaml").write_text("accelerators: {}\n", encoding="utf-8")
    for name in ("", "tasks.yaml", "tasks"):
        assert "2 pending" in (await room.ask(room.ada, f"queue {name}")).plain
    for name in ("secret.yaml", "/etc/passwd", "../home/tasks.yaml", str(room.root / "tasks.yaml")):
        answer = await room.ask(room.ada, f"queue {name}")
        assert "there is no queue" in answer.plain


async def test_a_remedy_names_the_command_that_people_can_write_here(room: Room) -> None:
    await room.job()
    answer = await room.ask(room.ada, "show 99")
    assert "/jobman list shows those there are" in answer.plain.replace("`", "")


async def test_a_job_is_shown_with_its_queue_as_people_call_it(room: Room) -> None:
    await room.queue("one")
    job = await room.job()
    assert "queue" not in (await room.ask(room.ada, f"show {job}")).plain
    worker = await room.job(name="worker, queue: {enabled: true, config: tasks.yaml}")
    shown = (await room.ask(room.ada, f"show {worker}")).plain
    assert "*queue*\ntasks.yaml" in shown


async def test_of_several_queues_one_has_to_be_named(room: Room) -> None:
    await room.queue("one", name="a/tasks.yaml")
    await room.queue("two", name="b/tasks.yaml")
    answer = await room.ask(room.ada, "queue")
    assert "there are 2 queues" in answer.plain
    assert "two" in (await room.ask(room.ada, "queue b/tasks.yaml")).plain
    assert "fits several" in (await room.ask(room.ada, "queue tasks")).plain


async def test_a_long_queue_is_paged_in_place_and_read_anew(room: Room) -> None:
    path = await room.queue(*(f"sweep-{number}" for number in range(150)))
    page = await room.ask(room.ada, "queue")
    assert "page 1 of" in page.plain
    await room.press(room.ada, page, "Next")
    await room.reads(page, "page 2 of")
    await room.app.mark_done(path, "sweep-149")
    await room.press(room.ada, page, "Last")
    await room.reads(page, "sweep-149")
    assert "1 done" in page.plain
    await room.press(room.ada, page, "First")
    await room.reads(page, "page 1 of")


async def test_a_page_of_a_queue_that_is_gone_is_an_old_button(room: Room) -> None:
    await room.queue(*(f"sweep-{number}" for number in range(150)))
    page = (await room.ask(room.ada, "queue")).copy()
    for button in page.blocks[-1]["elements"]:
        button["value"] = '["queue","0123456789abcdef",1]'
    assert "means nothing now" in (await room.answer(room.ada, page, "Next")).plain


@pytest.mark.parametrize(
    "value", ["", "{}", "[1,2,3]", '["help","",0]', '["list","all"]', "[" * 2000, "7"]
)
async def test_a_button_that_nobody_made_does_nothing(room: Room, value: str) -> None:
    await room.queue(*(f"sweep-{number}" for number in range(150)))
    page = (await room.ask(room.ada, "queue")).copy()
    for button in page.blocks[-1]["elements"]:
        button["value"] = value
    assert "means nothing now" in (await room.answer(room.ada, page, "Next")).plain


async def test_a_job_that_has_run_nothing_has_no_log(room: Room) -> None:
    job = await room.job()
    assert "nothing has run" in (await room.ask(room.ada, f"logs {job}")).plain
    assert "no task" in (await room.ask(room.ada, "logs nothing")).plain
    assert "no job" in (await room.ask(room.ada, "logs 77")).plain


async def test_names_that_mean_no_good_do_nothing(room: Room) -> None:
    await room.queue("<!channel>", "*bold* `code`")
    page = await room.ask(room.ada, "queue")
    assert page.pings == set()
    answer = await room.ask(room.ada, 'reset "<!channel>"')
    assert answer.pings == set()
    await room.press(room.ada, answer, "Reset task")
    await room.told("ada reset")
    assert all(message.pings == set() for message in room.public())
