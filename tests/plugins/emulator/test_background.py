"""``jobman emulator``: in the background, from the command line, with nothing left at the end."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.cloud import tpu_v2
from tests.plugins.emulator.conftest import Api, node_name, wait_until

from jobman_core.process import ProcessIdentity

pytestmark = pytest.mark.e2e


class Shell:
    """Calls of jobman, with a runtime folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "run"
        self.folder.mkdir(mode=0o700)
        self.env = {**os.environ, "XDG_RUNTIME_DIR": str(self.folder), "JOBMAN_HOME": str(folder)}

    def __call__(self, *args: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "jobman_cli", "emulator", *args]
        return subprocess.run(argv, env=self.env, capture_output=True, text=True, check=False)

    def good(self, *args: str) -> str:
        done = self(*args)
        assert done.returncode == 0, done
        return done.stdout

    def status(self) -> Any:
        return json.loads(self.good("status", "--json"))

    def identity(self) -> ProcessIdentity:
        path = self.folder / "jobman-emulator" / "emulator.json"
        fields = json.loads(path.read_text())
        return ProcessIdentity(fields["pid"], fields["start"], fields["boot_id"])


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    shell = Shell(tmp_path)
    yield shell
    shell("down")


def exports(text: str) -> dict[str, str]:
    """Read the lines that a shell would evaluate."""
    lines = [shlex.split(line, comments=True) for line in text.splitlines()]
    return dict(words[1].split("=", 1) for words in lines if words[:1] == ["export"])


def test_up_prints_what_leads_to_it_and_down_leaves_nothing(shell: Shell) -> None:
    env = exports(shell.good("up", "--hosts", "none"))
    assert env["TPU_EMULATOR_HOST"].startswith("127.0.0.1:")
    assert env["CLOUDSDK_AUTH_DISABLE_CREDENTIALS"] == "true"
    assert exports(shell.good("status")) == env
    with grpc.insecure_channel(env["TPU_EMULATOR_HOST"]) as channel:
        assert Api(tpu_v2, channel).ready_node("n").state.name == "READY"
    assert shell.status()["resources"] == {node_name("n"): "READY"}
    identity = shell.identity()
    assert "nothing is left (1 nodes, 0 queued resources are gone)" in shell.good("down")
    assert identity.state() == "gone"
    again = shell("down")
    assert (again.returncode, again.stdout) == (3, "")
    assert again.stderr == "error: no emulator runs: there is nothing to end\n"


def test_what_it_writes_down_is_for_its_user_alone(shell: Shell) -> None:
    shell.good("up", "--hosts", "none")
    folder = shell.folder / "jobman-emulator"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "facts.json").stat().st_mode & 0o777 == 0o600
    shell.good("down")
    folder.chmod(0o755)
    refused = shell("up", "--hosts", "none")
    assert refused.returncode == 4
    assert "is not yours alone" in refused.stderr


def test_there_is_one_at_a_time(shell: Shell) -> None:
    shell.good("up", "--hosts", "none")
    second = shell("up", "--hosts", "none")
    assert second.returncode == 4
    assert "an emulator runs already" in second.stderr


@pytest.mark.timeout(240)
def test_the_verbs_reach_it(shell: Shell) -> None:
    env = exports(shell.good("up", "--hosts", "none"))
    with grpc.insecure_channel(env["TPU_EMULATOR_HOST"]) as channel:
        Api(tpu_v2, channel).ready_node("n", "v4-32")
    for words in (
        "maintenance n",
        "host-down n 2",
        "capacity us-central2-b v4-8 1",
        "quota us-east1 v6e 0",
        "fail-next CreateNode --code 8 --late --times 2",
        "fault instant-delete",
        "slow GetNode 0.1 --after",
        "rate-limit CreateNode 10",
        "reset",
    ):
        shell.good(*words.split())
    shell.good("preempt", "n")
    assert shell.status()["resources"] == {node_name("n"): "PREEMPTED"}
    shell.good("state", "n", "gone")
    assert shell.status()["nodes"] == 0


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("preempt", "x"), 3, "Resource 'x' was not found: see `jobman emulator status`"),
        (("capacity", "mars", "v4-8", "1"), 2, "unknown zone 'mars': use one of "),
        (("capacity", "us-central2-b", "v4-8", "few"), 2, "N is 'few': use a number, or any"),
        (
            ("fail-next", "Create", "--code", "8"),
            2,
            "unknown call 'Create': did you mean CreateNode",
        ),
    ],
)
def test_what_cannot_be_is_told_in_one_line(
    shell: Shell, args: tuple[str, ...], code: int, said: str
) -> None:
    shell.good("up", "--hosts", "none")
    done = shell(*args)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(f"error: {said}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("provisioning: soon\n", "invalid value for type, expected float @ $.provisioning"),
        ("colour: red\n", "extra fields found"),
        ("capacity: {mars: {v4-8: 1}}\n", "unknown zone 'mars'"),
        ("quota: [\n", "cannot be read"),
    ],
)
def test_a_bad_file_is_told_by_up_and_nothing_runs(
    shell: Shell, tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "emulator.yaml"
    file.write_text(text)
    done = shell("up", "--hosts", "none", "--config", str(file))
    assert done.returncode == 1
    assert done.stderr.startswith("error: the emulator did not start: ")
    assert said in done.stderr
    assert shell("status").returncode == 3


def test_a_file_sets_times_capacities_and_quotas(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "emulator.yaml"
    file.write_text(
        "provisioning: 0.1\n"
        "capacity: {us-central2-b: {v4-8: 0}}\n"
        "reserved: {us-central2-b: {v4-8: 1}}\n"
        "quota: {us-east1: {v6e: 0}}\n"
    )
    env = exports(shell.good("up", "--hosts", "none", "--config", str(file)))
    with grpc.insecure_channel(env["TPU_EMULATOR_HOST"]) as channel:
        api = Api(tpu_v2, channel)
        operation = api.create_node("n")
        assert operation.exception().message.startswith("There is no more capacity")
        node = api.ready_node("n", scheduling_config={"reserved": True})
        assert node.state.name == "READY"


def test_a_killed_one_is_noticed_and_can_be_started_again(shell: Shell) -> None:
    shell.good("up", "--hosts", "none")
    identity = shell.identity()
    os.kill(identity.pid, signal.SIGKILL)
    wait_until(lambda: identity.state() == "gone", "it is gone")
    assert shell("status").returncode == 3
    shell.good("up", "--hosts", "none")
    assert shell.status()["nodes"] == 0


def test_a_frozen_one_is_ended_and_that_it_did_not_say_what_is_left_is_told(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.good("up", "--hosts", "none")
    identity = shell.identity()
    # Its log is there, its words are not: it listens no more.
    facts = shell.folder / "jobman-emulator" / "facts.json"
    facts.write_text(facts.read_text().replace("http://127.0.0.1:", "http://127.0.0.1:1", 1))
    done = shell("down")
    assert done.returncode == 1
    assert "did not say what became of its hosts" in done.stderr
    assert identity.state() == "gone"


def test_in_the_foreground_it_stays_until_it_is_told_to_end(shell: Shell) -> None:
    argv = [sys.executable, "-m", "jobman_cli", "emulator", "up", "--foreground", "--hosts", "none"]
    with subprocess.Popen(argv, env=shell.env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline().startswith("export TPU_EMULATOR_HOST=127.0.0.1:")
        assert shell.status()["nodes"] == 0
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    assert shell("status").returncode == 3
