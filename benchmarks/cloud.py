"""Cloud TPU by an emulator whose hosts are processes of this machine, reached by OpenSSH.

What hosts and cloud do is done in this process, so that what a controller costs can be told apart.
"""

import os
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.cloud import OTHER_ZONE, CloudLab, cloud_lab

from benchmarks.table import Row
from jobman_emulator.process_hosts import ProcessHosts

#: Of the slice that is launched on, and its hosts.
LARGE, HOSTS = "v6e-256", 64
#: Seconds that each connection and each command on a host is held up for.
LATENCY = 3.0
#: Jobs with a host each that one process polls.
POLLED = 50
#: Seconds until what has just begun goes its usual way.
SETTLE = 8.0
#: Seconds over which the processor is watched.
WATCHED = 60.0
#: How often a slice is preempted.
PREEMPTIONS = 5
#: Jobs in one process whose memory is told.
TOGETHER = 20


@contextmanager
def site(folder: Path, *, session: str = "process") -> Iterator[CloudLab]:
    """Give a home and an emulator that takes a second to provision."""
    with cloud_lab(folder, provisioning=1.0, deleting=0.3, suspending=0.3) as lab:
        lab.write("jobman.yaml", f"session: {session}\nsessions: {{shared: {{idle: 1s}}}}\n")
        (lab.root / "stamps").mkdir()
        yield lab


def stamping(lab: CloudLab) -> str:
    """Give a command that leaves a time-stamp, by attempt, job and host, when it begins."""
    return f"date +%s.%N > {lab.root}/stamps/$JOBMAN_ATTEMPT.$JOBMAN_JOB_ID.$JOBMAN_WORKER_ID"


def stamps(lab: CloudLab, count: int) -> Sequence[float]:
    """Wait for so many time-stamps that programs left, and give them."""

    def look() -> list[float] | None:
        texts = [path.read_text() for path in lab.root.glob("stamps/*")]
        return [float(text) for text in texts] if len(texts) == count and all(texts) else None

    return lab.until(f"{count} programs", look, limit=300)


def measure(folder: Path) -> Sequence[Row]:
    """Measure all of them."""
    parts = _launching, _polling, _recovery, _memory
    return [row for part in parts for row in part(folder / part.__name__.strip("_"))]


# -- launching on many hosts -------------------------------------------------------------------


def _launching(folder: Path) -> Sequence[Row]:
    one = _launch(folder / "one", "v6e-4", 1)
    many = _launch(folder / "many", LARGE, HOSTS)
    held_up = _launch(folder / "one-held-up", "v6e-4", 1, LATENCY)
    all_held_up = _launch(folder / "many-held-up", LARGE, HOSTS, LATENCY)
    what = f"from a slice of {HOSTS} hosts that is there to a program on each"
    detail = f"each connection and command takes {LATENCY:g} s longer: {all_held_up:.1f} s"
    return [
        Row(what, many, "s", detail=f"all on this machine; one host alone: {one:.1f} s"),
        Row(f"{what}, of one host's time", all_held_up / held_up, at_most=3.0, detail=detail),
    ]


def _launch(folder: Path, accelerator: str, hosts: int, latency: float = 0.0) -> float:
    """Give the seconds from a slice that the cloud says is ready to the last program's start."""
    with site(folder) as lab:
        assert isinstance(lab.machines, ProcessHosts)
        lab.machines.latency = latency
        script = f"{stamping(lab)}\nsleep 600"
        lab.create(lab.job(cmd=script, accelerator=accelerator, zone=OTHER_ZONE))
        lab.until("it is ready", lambda: "READY" in lab.states().values(), limit=120)
        ready = time.time()
        seconds = max(stamps(lab, hosts)) - ready
        lab.machines.latency = 0.0
    return seconds


# -- polling -----------------------------------------------------------------------------------


def _polling(folder: Path) -> Sequence[Row]:
    """Measure what it costs one process to follow programs on many hosts."""
    with site(folder, session="shared") as lab:
        talk = lab.root / "talk"
        script = f"{stamping(lab)}\nwhile sleep 1; do [ ! -e {talk} ] || date; done"
        lab.create(lab.job(cmd=script), "--count", str(POLLED))
        stamps(lab, POLLED)
        pid = lab.controller("1")
        quiet = _share(lab, pid)
        talk.touch()
        talking = _share(lab, pid)
    what = f"{POLLED} hosts polled by one process, of one core"
    return [
        Row(f"{what}, programs that {how}", sum(share), at_most=1 / 3, detail=_shares(*share))
        for how, share in (("say nothing", quiet), ("say a line a second", talking))
    ]


def _shares(own: float, ssh: float) -> str:
    return f"itself {own:.3f}, its ssh {ssh:.3f}; over {WATCHED:g} s"


def _share(lab: CloudLab, pid: int) -> tuple[float, float]:
    """Give the shares of a core that a controller takes: by itself, and by its ssh processes."""
    time.sleep(SETTLE)
    before, began = _spent(lab, pid), time.monotonic()
    time.sleep(WATCHED)
    own, ssh = (after - at for after, at in zip(_spent(lab, pid), before, strict=True))
    seconds = time.monotonic() - began
    return own / seconds, ssh / seconds


def _spent(lab: CloudLab, pid: int) -> tuple[float, float]:
    """Give the processor seconds that a controller has taken, and those of its ssh processes."""
    own, waited_for = _seconds(pid)
    # Connections that calls share are nobody's children.
    masters = (int(line.split(":")[0]) for line in lab.processes() if "'ssh" in line)
    return own, waited_for + sum(_seconds(master)[0] for master in masters)


def _seconds(pid: int) -> tuple[float, float]:
    """Give a process's own processor seconds, and those of its children that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0, 0.0
    # utime, stime, cutime, cstime: fields 14 to 17.
    user, system, *children = (int(field) / os.sysconf("SC_CLK_TCK") for field in fields[11:15])
    return user + system, sum(children)


# -- preemptions -------------------------------------------------------------------------------


def _recovery(folder: Path) -> Sequence[Row]:
    """Measure from a preemption to the task's next start, for each way to lose a slice."""
    ways = {
        "a node": ("tpu-vm", "suspending-first"),
        "a queued resource, which says so first": ("queued-resources", "suspending-first"),
        "a queued resource, whose node says so first": ("queued-resources", "node-first"),
    }
    rows = []
    for number, (what, (mode, order)) in enumerate(ways.items()):
        seconds = _recoveries(folder / str(number), mode, order)
        row = Row(
            f"from a preemption to the task's next start: {what}",
            statistics.median(seconds),
            "s",
            at_most=10.0,
            detail=f"longest {max(seconds):.1f} s of {len(seconds)}; provisioning takes 1 s",
        )
        rows.append(row)
    return rows


def _recoveries(folder: Path, mode: str, order: str) -> Sequence[float]:
    with site(folder) as lab:
        task = f"{{id: long, run: '{stamping(lab)}; sleep 600'}}"
        lab.write("tasks.yaml", f"accelerators: {{v4-8: {{tasks: [{task}]}}}}\n")
        tpu = f"pricing: spot\nallocation_mode: {mode}\n"
        job = lab.create(lab.job(queue="tasks.yaml", loop="true", tpu=tpu))
        seconds = []
        for count in range(1, PREEMPTIONS + 1):
            stamps(lab, count)
            time.sleep(SETTLE)
            since = time.time()
            lab.preempt(job, order=order)
            seconds.append(max(stamps(lab, count + 1)) - since)
    return seconds


# -- memory ------------------------------------------------------------------------------------


def _memory(folder: Path) -> Sequence[Row]:
    with site(folder / "own") as lab:
        own, peak = _controller_memory(lab, 1)
    with site(folder / "shared", session="shared") as lab:
        shared, shared_peak = _controller_memory(lab, TOGETHER)
    return [
        Row(
            "a controller of its own, its memory",
            own,
            "MB",
            at_most=90.0,
            detail=f"peak {peak:.0f} MB",
        ),
        Row(
            f"{TOGETHER} jobs in one process, its memory",
            shared,
            "MB",
            detail=f"peak {shared_peak:.0f} MB",
        ),
    ]


def _controller_memory(lab: CloudLab, jobs: int) -> tuple[float, float]:
    """Give the MB that a controller has in memory while jobs run, and its most so far."""
    script = f"{stamping(lab)}\nsleep 600"
    lab.create(lab.job(cmd=script), "--count", str(jobs))
    stamps(lab, jobs)
    time.sleep(SETTLE)
    status = Path(f"/proc/{lab.controller('1')}/status").read_text()
    words = (line.split() for line in status.splitlines())
    sizes = {
        line[0]: int(line[1]) * 1024 / 1e6 for line in words if line[0] in ("VmRSS:", "VmHWM:")
    }
    return sizes["VmRSS:"], sizes["VmHWM:"]
