"""The ends of logs."""

from tests.slackbot.commands.conftest import Room
from tests.support.slack import Message

from jobman_core.home import Home
from jobman_core.testing.store_contract.scene import Scene


async def _ran(room: Room, *outputs: bytes) -> str:
    """Let a job's command run, with an output of each host; gives the job."""
    job = await room.job()
    lease = await Scene(room.store).lease(job)
    attempt = await room.store.open_attempt(lease, generation=1, now=room.now)
    for host, output in enumerate(outputs):
        path = Home(room.root).command_log("ada", job, attempt.number, host)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(output)
    return job


async def _file(room: Room, who: str) -> tuple[Message, str]:
    direct = room.slack.world.talk_with(who).id
    message = await room.slack.wait_for(
        lambda: next((m for m in room.slack.read(direct, who) if m.files), None), what="a file"
    )
    return message, message.files[0].content.decode()


async def test_a_short_log_is_shown_to_who_asked(room: Room) -> None:
    job = await _ran(room, b"".join(b"step %d\n" % number for number in range(100)))
    answer = await room.ask(room.vera, f"logs {int(job)}")
    assert answer.only_to == room.vera
    assert "step 99" in answer.plain
    assert "step 79" not in answer.plain
    assert "step 97" in (await room.ask(room.vera, f"logs {job} 3")).plain


async def test_a_long_log_is_a_file_in_the_messages_of_who_asked(room: Room) -> None:
    job = await _ran(room, b"".join(b"step %d\n" % number for number in range(5000)))
    await room.ask(room.ada, f"logs {job} 1000")
    message, content = await _file(room, room.ada)
    (answer,) = await room.slack.wait_for(
        lambda: room.slack.read(room.lab, room.ada), what="a word"
    )
    assert answer.only_to == room.ada
    assert "its last 1,000 lines are in our direct messages" in answer.plain
    assert content.splitlines()[0] == "step 4000"
    assert content.splitlines()[-1] == "step 4999"
    assert message.files[0].name == f"job-{job}.log"
    assert room.public() == []


async def test_a_log_of_several_hosts_says_whose_each_part_is(room: Room) -> None:
    job = await _ran(room, b"loss 1\n", b"loss 2\n")
    answer = (await room.ask(room.ada, f"logs {job}")).plain
    assert answer.index("host 0") < answer.index("loss 1") < answer.index("host 1")


async def test_a_log_that_means_no_good_calls_nobody_and_ends_no_block(room: Room) -> None:
    evil = b"```<!channel> <@U0123456789>\0\x1b[31m\xff\xfe `x`\n"
    answer = await room.ask(room.ada, f"logs {await _ran(room, evil)}")
    assert answer.pings == set()
    assert "&lt;!channel&gt;" in answer.blocks[-1]["text"]["text"]


async def test_one_line_without_end_is_cut_to_what_people_can_open(room: Room) -> None:
    job = await _ran(room, b"x" * 3_000_000 + b"end\n")
    await room.ask(room.ada, f"logs {job}")
    _, content = await _file(room, room.ada)
    assert len(content) <= 1_000_000
    assert content.endswith("end")


async def test_a_task_that_is_called_by_a_number_has_its_log_too(room: Room) -> None:
    await room.queue("77", "sweep")
    for task in ("77", "sweep"):
        assert "nothing has run" in (await room.ask(room.ada, f"logs {task}")).plain


async def test_of_a_progress_bar_of_many_megabytes_the_last_state_is_shown(room: Room) -> None:
    progress = b"\r".join(b"step %d" % number for number in range(1_000_000))
    job = await _ran(room, b"begin\n" + progress + b"\n")
    answer = await room.ask(room.ada, f"logs {job}")
    assert answer.plain.splitlines()[-2] == "step 999999"
