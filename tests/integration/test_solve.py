"""``jobman solve`` on a machine on which much has gone wrong."""

from typing import Any

import pytest
from tests.support.cloud import CloudLab

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.timeout(240)]

#: A file system whose daemon is gone.
DEAD_MOUNT = """
import ctypes, os
os.mkdir("/mnt/dead one")
fuse = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"gone", b"/mnt/dead one", b"fuse.gone", 0, options):
    raise OSError(ctypes.get_errno(), "mount")
"""
TROUBLE = f"""
set -e
sudo -n mount -t tmpfs -o size=4m,mode=1777 tmpfs /tmp
mkdir /tmp/tpu_logs
head -c 5m /dev/zero 2> /dev/null > /tmp/tpu_logs/INFO || touch -d '3 days ago' /tmp/tpu_logs/INFO
sudo -n sh -c 'exec 9<> /dev/accel0; exec setsid sleep 600' > /dev/null 2>&1 < /dev/null &
until sudo -n find /proc/[0-9]*/fd -lname /dev/accel0 2> /dev/null | grep -q .; do sleep 0.05; done
sudo -n python3 -c '{DEAD_MOUNT}'
"""
OWNER = "sudo -n mkdir -p .cache/pip/http"


def solve(lab: CloudLab, job: str, *options: str, code: int) -> dict[str, Any]:
    """Give what is found, by the check's name."""
    return {each["name"]: each for each in lab.json("solve", job, *options, code=code)}


def test_what_has_gone_wrong_on_a_host_is_found_and_mended_when_no_program_is_harmed(
    netns_cloud: CloudLab,
) -> None:
    lab = netns_cloud
    job = lab.create(lab.job(cmd="echo begun; exec sleep 600", loop="true"))
    lab.until_output("jobs/*/*/logs/command_run_001_worker_0.log", "begun")
    assert lab.run("solve", job).out == "nothing is wrong: 7 checks on 1 host\n"

    lab.run("ssh", job, "--", "bash", "-c", f"{TROUBLE}{OWNER}")
    found = solve(lab, job, code=1)
    assert set(found) == {"chips", "disk", "owner", "mounts"}
    assert "sleep 600" in found["chips"]["problem"]
    assert "the disk of /tmp is full: 0 of 4 MiB are left" in found["disk"]["problem"]
    assert ".cache belongs to root" in found["owner"]["problem"]
    assert found["mounts"]["problem"] == "/mnt/dead one is a dead mount: nobody serves it"
    assert all(each["remedy"] and not each["fixed"] for each in found.values())

    beside = solve(lab, job, "--fix", code=1)
    assert {name for name, each in beside.items() if each["fixed"]} == {"owner"}
    refused = f"refused, since its command runs there: `jobman stop {job}` ends it"
    assert {each["why"] for name, each in beside.items() if name != "owner"} == {refused}
    assert lab.status(job) == "RUNNING"

    lab.run("stop", job)
    mended = solve(lab, job, "--fix", code=0)
    assert {name for name, each in mended.items() if each["fixed"]} == {"chips", "disk", "mounts"}
    assert lab.run("solve", job).out == "nothing is wrong: 7 checks on 1 host\n"

    lab.run("ssh", job, "--", "bash", "-c", OWNER)
    lab.run("resume", job)
    lab.until_output("jobs/*/*/logs/command_run_002_worker_0.log", "begun")
    events = [e["text"] for e in lab.json("show", job)["events"] if e["kind"] == "host.mended"]
    assert len(events) == 5
    assert "owner: " in events[-1]
