"""What is acknowledged is on the disk: seen by strace, in the order in which it happened."""

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs
import pytest
from tests.support.lab import Lab

pytestmark = pytest.mark.e2e

CALLS = "openat,mkdir,fsync,fdatasync,write,pwrite64,rename,unlink,ftruncate"

#: A worker's life; before and after each step it says so, by a write that strace sees.
LIFE = """
import asyncio, os, sys
from pathlib import Path
import attrs
from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.clock import SystemClock
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import Note
from jobman_core.models.job import Desired, Ending, EndingKind, Step
from jobman_core.testing.store_contract.scene import (
    NOON, OFFER, QUEUE, SUCCEEDED, Scene, controller, draft, entry, slice_of,
)

NOTE = Note("test.note", "a note")

async def main():
    network = sys.argv[2] == "network"
    store = SqliteStore(Context(Path(sys.argv[1]), "", SystemClock()), network=lambda _: network)
    scene = Scene(store)
    marks = os.open("/dev/null", os.O_WRONLY)

    async def step(name, work):
        os.write(marks, f"begin {name}\\n".encode())
        result = await work
        os.write(marks, f"end {name}\\n".encode())
        return result

    await step("open", store.open())
    await step("open_queue", store.open_queue(QUEUE))
    await step("define", scene.define(entry("a"), entry("b")))
    job = (await step("draft", store.draft_job(draft(queue=QUEUE)))).id
    await step("publish", store.publish_job(job, spec_hash="x"))
    await step("set_desired", store.set_desired(job, Desired.RUNNING, NOTE))
    await step("register", store.register(controller("c")))
    lease = await step("take_lease", store.take_lease(job, "c", instead_of=None))
    await step("beat", store.beat("c", 1.0))
    await step("set_step", store.set_step(lease, Step.PREPARE, "prepares"))
    slice_ = slice_of(job, 1)
    await step("open_slice", store.open_slice(lease, slice_, NOTE))
    await step("save_slice", store.save_slice(lease, attrs.evolve(slice_, ready_at=NOON)))
    claim = await step("claim", scene.claim(lease, OFFER))
    await step("beat_again", store.beat("c", 2.0))
    await step("save_attempt", store.save_attempt(lease, attrs.evolve(claim.attempt, hosts=(0,))))
    await step("end_attempt", scene.end(lease, claim, SUCCEEDED))
    await step("reset", store.reset(QUEUE, ["a"], NOTE))
    await step("prioritize", store.prioritize(QUEUE, "b", NOTE))
    await step("mark_done", store.mark_done(QUEUE, "a", NOTE))
    attempt = await step("open_attempt", store.open_attempt(lease, generation=1, now=NOON))
    await step("ask_end", store.ask_end(attempt.token, "stopped"))
    await step("end_command", store.end_attempt(lease, attempt.token, SUCCEEDED, now=NOON))
    ending = Ending(EndingKind.DONE, "")
    await step("set_ending", store.set_ending(lease, ending, give_back=True))
    await step("drop_lease", store.drop_lease(lease))
    await step("retire", store.retire("c"))
    await store.aclose()

asyncio.run(main())
"""

UNSYNCED = {"beat", "beat_again", "set_step"}


@attrs.frozen
class Call:
    """One system call: its name, the file that it is about, and how strace writes it."""

    name: str
    path: str
    line: str

    @property
    def syncs(self) -> bool:
        return self.name in ("fsync", "fdatasync")

    @property
    def writes(self) -> bool:
        return self.name in ("write", "pwrite64", "ftruncate")


def strace(log: Path, *argv: str | Path, **options: object) -> None:
    """Run a command under strace."""
    words = ["strace", "-f", "-y", "-qq", "-s", "200", "-o", log, "-e", f"trace={CALLS}", *argv]
    subprocess.run([*map(str, words)], check=True, timeout=50, **options)  # type: ignore[call-overload]


def calls(log: Path) -> list[Call]:
    """Read what strace saw; a call that another thread interrupted counts when it was over."""
    begun: dict[str, str] = {}
    found = []
    for line in log.read_text(errors="replace").splitlines():
        pid, _, text = line.partition(" ")
        text = text.strip()
        if text.endswith("<unfinished ...>"):
            begun[pid] = text.removesuffix("<unfinished ...>")
            continue
        if match := re.match(r"<\.\.\. \w+ resumed>(.*)", text):
            text = begun.pop(pid) + match[1]
        name, _, rest = text.partition("(")
        path = re.search(r'"([^"]*)"', rest) if name in ("mkdir", "unlink") else None
        path = path or re.match(r"\d+<([^>]*)>", rest)
        if name == "rename":
            path = re.search(r', "([^"]*)"', rest)
        if not text.endswith("= -1") and " = -1 " not in text:
            found.append(Call(name, path[1] if path else "", text))
    return found


def steps(found: Sequence[Call]) -> Iterator[tuple[str, list[Call]]]:
    """Give the calls between the marks of each step."""
    inside: list[Call] = []
    for call in found:
        if mark := re.search(r'"(begin|end) (\w+)\\n"', call.line):
            if mark[1] == "end":
                yield mark[2], inside
            inside = []
        else:
            inside.append(call)


def live(tmp_path: Path, kind: str) -> dict[str, list[Call]]:
    """Let a worker live in a new home; gives what each of its steps called."""
    log = tmp_path / "strace.log"
    strace(log, sys.executable, "-c", LIFE, tmp_path / "home", kind)
    return dict(steps(calls(log)))


def unsynced(made: Sequence[Call], *suffixes: str) -> list[str]:
    """Give the files of the database that were written after they were last synced."""
    dirty: dict[str, str] = {}
    for call in made:
        if call.writes and call.path.endswith(suffixes):
            dirty[call.path] = call.line
        elif call.syncs:
            dirty.pop(call.path, None)
    return list(dirty.values())


def test_each_step_of_a_workers_life_is_on_the_disk_before_it_is_acknowledged(
    tmp_path: Path,
) -> None:
    life = live(tmp_path, "local")
    assert len(life) > 20
    for name, made in life.items():
        written = [call for call in made if call.writes and call.path.endswith("-wal")]
        assert written, f"{name} changed nothing"
        if name not in UNSYNCED:
            assert unsynced(made, "-wal") == [], name


def test_a_claim_and_its_release_wait_for_the_disk_twice_and_beats_never(tmp_path: Path) -> None:
    life = live(tmp_path, "local")
    syncs = {name: sum(call.syncs for call in made) for name, made in life.items()}
    assert syncs["claim"] + syncs["end_attempt"] <= 2
    assert {name: syncs[name] for name in UNSYNCED} == dict.fromkeys(UNSYNCED, 0)


def test_on_a_network_file_system_the_journal_is_gone_for_good_before_anything_is_acknowledged(
    tmp_path: Path,
) -> None:
    life = live(tmp_path, "network")
    folder = str(tmp_path / "home/jobs/.jobman")
    for name, made in life.items():
        if name == "open":
            continue
        # A journal that came back after a power cut would undo what was committed.
        gone = [n for n, call in enumerate(made) if call.name == "unlink"]
        assert gone, name
        assert any(call.syncs and call.path == folder for call in made[gone[-1] :]), name
        assert unsynced(made, ".db") == [], name
        written = [n for n, call in enumerate(made) if call.writes and call.path.endswith(".db")]
        journal = [n for n, c in enumerate(made) if c.syncs and c.path.endswith("-journal")]
        assert journal[0] < written[0], name


def test_a_new_home_and_all_that_leads_to_it_stay(tmp_path: Path) -> None:
    made = live(tmp_path, "local")["open"]
    for folder in ("home", "home/jobs", "home/jobs/.jobman"):
        path = tmp_path / folder
        begun = next(n for n, c in enumerate(made) if (c.name, c.path) == ("mkdir", str(path)))
        assert any(c.syncs and c.path == str(path.parent) for c in made[begun:]), folder
    state = tmp_path / "home/jobs/.jobman"
    bond = next(n for n, call in enumerate(made) if call.path == f"{state}/machine.json")
    assert made[bond].name == "rename"
    assert any(call.syncs and ".machine.json" in call.path for call in made[:bond])
    assert any(call.syncs and call.path == str(state) for call in made[bond:])


def test_a_job_whose_id_is_printed_is_on_the_disk_with_its_file(tmp_path: Path) -> None:
    lab = Lab(tmp_path / "lab")
    config, log = lab.job(cmd="true"), tmp_path / "strace.log"
    jobman = (sys.executable, "-m", "jobman_cli")
    for _ in range(2):
        strace(log, *jobman, "create", config, "--no-start", env=lab.env, cwd=lab.root)
        found = calls(log)
        folder = max((lab.root / "jobs/ada").iterdir())
        said = next(n for n, c in enumerate(found) if f'"{folder.name}' in c.line and c.writes)
        made = found[:said]
        assert unsynced(made, "-wal") == []
        # Its text, its name, and the names of all folders on the way.
        assert any(call.syncs and "config.yaml" in call.path for call in made)
        last = {call.path: n for n, call in enumerate(made) if call.syncs}
        assert last[str(folder)] > next(
            n for n, call in enumerate(made) if call.path == f"{folder}/config.yaml"
        )
        for path in (folder, folder.parent, lab.root / "jobs"):
            for n, call in enumerate(made):
                if (call.name, call.path) == ("mkdir", str(path)):
                    assert last[str(path.parent)] > n, path
        # It can be seen only once all of that is so.
        published = last.pop(f"{lab.root}/jobs/.jobman/jobman.db-wal")
        assert published > max(n for path, n in last.items() if not path.endswith(".db"))
