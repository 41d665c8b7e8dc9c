"""Job files: what they mean, and every way in which one can be wrong."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import attrs
import pytest

from jobman_core import hookimpl
from jobman_core.config.job import JobFile, parse_job, read_job
from jobman_core.config.surroundings import Surroundings
from jobman_core.errors import ConfigError
from jobman_core.home import Home
from jobman_core.interfaces.cloud import Cloud
from jobman_core.interfaces.store import JobDraft
from jobman_core.models.job import (
    CommandMode,
    HoldMode,
    Loop,
    OnEnd,
    PrefixScript,
    QueueMode,
)
from jobman_core.models.notice import Audience, NoticeKind, NotifyRule
from jobman_core.models.settings import Settings
from jobman_core.models.slice import SliceRequest
from jobman_core.models.task import Workers
from jobman_core.plugins import Plugins
from jobman_core.testing.fakes import FakeCloud

Parse = Callable[..., JobFile]
Faults = Callable[..., list[str]]

QUICK = """\
job:
  name: hello
  env_type: null
  worker_num: null

tpu:
  cloud: local
  accelerator: v4-32

ssh: null
gcsfuse: null

command:
  cmd: echo hello
"""


def job(extra: str = "", *, tpu: str = "", rest: str = "") -> str:
    """Give a small job file with more keys in its sections."""
    tpu_section = f"tpu:\n  cloud: local\n  accelerator: v4-32\n{tpu}"
    return f"job:\n  name: hello\n{extra}{tpu_section}{rest}"


def test_a_job_tells_who_its_file_says_else_who_its_owner_says(
    parse: Parse, around: Surroundings
) -> None:
    own = attrs.evolve(around, settings=Settings(own_notify=NotifyRule(Audience.NOBODY)))
    rules = [
        parse_job(text, Path("job.yaml"), own).draft("ann").notify
        for text in (job(), job("  notify: owner\n"), job("  notify: {of: [failed]}\n"))
    ]
    assert rules == [
        NotifyRule(Audience.NOBODY),
        NotifyRule(Audience.OWNER),
        NotifyRule(Audience.CHANNEL, (NoticeKind.FAILED,)),
    ]
    assert parse(job()).draft("ann").notify is None


def test_the_worker_file_of_the_manual(worker: Path, around: Surroundings, home: Path) -> None:
    file = read_job(worker, around)
    tasks = str(home / "queue_machines" / "tasks.yaml")
    assert file.draft("ann") == JobDraft(
        user="ann",
        base_name="myproject-qw-v6e-64",
        accelerator="v6e-64",
        zone="us-central1-b",
        cloud="gcp",
        session="process",
        queue=tasks,
        worker_num="auto",
    )
    assert file.notes == ()
    spec = file.spec("2")
    assert spec.name == "myproject-qw-v6e-64_2"
    assert spec.tpu_name == "myproject-qw-v6e-64-2"
    assert spec.work == QueueMode(tasks)
    assert spec.candidates == (
        SliceRequest(
            cloud="gcp",
            accelerator="v6e-64",
            zone="us-central1-b",
            pricing="spot",
            mode="queued-resources",
            runtime="v2-alpha-tpuv6e",
            options={"tags": ["jobman", "queue-worker"]},
        ),
    )
    assert spec.loop is Loop.RECOVER
    assert spec.remote_user == "your_username"
    # Interpolation sees the names with their suffix.
    assert spec.environment == {"BUCKET_NAME": "my-bucket", "TPU_PREFIX": "myproject-qw-v6e-64-2"}
    script = (
        'echo "Setting up gcloud..."\ngcloud config set project my-project\n'
        "gcloud config set compute/zone us-central1-b\n"
    )
    assert spec.prefix == (PrefixScript("gcloud-setup", script, Workers((0,)), required=False),)
    key = str(Path("~/.ssh/my_key").expanduser())
    assert spec.sections["gcsfuse"] == {
        "bucket_name": "my-bucket",
        "mount_path": "/home/username/gcs",
        "extra_mounts": [],
    }
    assert spec.sections["ssh"]["private_key"] == key
    assert spec.sections["ssh"]["identities"][0]["public_key"] == f"{key}.pub"
    assert spec.sections["venv"] == {
        "name": "my_venv",
        "requirements_file": str(home / "assets" / "requirements.txt"),
        "python": "python3.10",
    }


def test_the_quick_start_needs_no_sections_and_no_user(parse: Parse) -> None:
    spec = parse(QUICK).spec("000001")
    assert (spec.name, spec.tpu_name) == ("hello_000001", "hello-000001")
    assert spec.work == CommandMode("echo hello", Workers("all"))
    assert spec.candidates == (
        SliceRequest("local", "v4-32", "local", runtime="tpu-ubuntu2204-base"),
    )
    assert (spec.loop, spec.on_end, spec.session) == (Loop.NEVER, OnEnd.KEEP, None)
    assert spec.sections == {}


def test_without_queue_and_command_the_slice_is_held(parse: Parse) -> None:
    assert parse(job()).spec("1").work == HoldMode()


def test_a_queue_beats_a_command_unless_it_is_switched_off(
    parse: Parse, worker: Path, worker_text: str
) -> None:
    both = worker_text + "command:\n  cmd: x\n  workers: [0]\n"
    assert isinstance(parse(both).spec("1").work, QueueMode)
    off = parse(both.replace("enabled: true", "enabled: false"))
    assert off.spec("1").work == CommandMode("x", Workers((0,)))
    assert off.spec("1").prefix == ()
    assert off.notes == ("job.queue.prefix is passed over, as job.queue.enabled is false",)


@pytest.mark.parametrize(
    ("number", "queue", "expected"),
    [
        ("", "", None),
        ("  worker_num: null\n", "", None),
        ("  worker_num: 7\n", "", "7"),
        ("  worker_num: spot\n", "", "spot"),
        ("  worker_num: auto\n", "", "auto"),
        ("", "  queue: {enabled: yes, config: queue_machines/tasks.yaml}\n", "auto"),
        ("  worker_num: 007\n", "  queue: {config: queue_machines/tasks.yaml}\n", "007"),
    ],
)
def test_what_the_suffix_is_made_from(
    parse: Parse, worker: Path, number: str, queue: str, expected: str | None
) -> None:
    assert parse(job(number + queue)).worker_num == expected


def test_numbers_and_dates_stay_as_they_were_written(parse: Parse) -> None:
    text = job(
        "  environment: {A: 007, B: 1e3, C: true, D: null, E: 2024-01-01, F: 0x1F, G: 3.10}\n",
        rest="venv: {name: 1_0, python: 3.10}\n",
    ).replace("name: hello", "name: 123\n  env_type: venv")
    spec = parse(text).spec("1")
    assert spec.name == "123_1"
    assert spec.tpu_name == "tpu-123-1"
    assert spec.sections["venv"] == {"name": "1_0", "python": "3.10"}
    assert spec.environment == {
        "A": "007",
        "B": "1e3",
        "C": "true",
        "D": "",
        "E": "2024-01-01",
        "F": "0x1F",
        "G": "3.10",
    }


@pytest.mark.parametrize(
    ("written", "expected"),
    [("yes", True), ("On", True), ("no", False), ("off", False), ("TRUE", True), ("false", False)],
)
def test_the_booleans_of_yaml_1_1_are_booleans_where_one_is_expected(
    parse: Parse, written: str, expected: bool
) -> None:
    spec = parse(job(f"  pipefail: {written}\n  environment: {{A: {written}}}\n")).spec("1")
    assert spec.pipefail is expected
    assert spec.environment == {"A": written}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("30", 30.0),
        ("90s", 90.0),
        ("10m", 600.0),
        ("2h", 7200.0),
        ("1d", 86400.0),
        ("1.5h", 5400.0),
    ],
)
def test_durations(parse: Parse, written: str, expected: float) -> None:
    assert (
        parse(job(f"  unreachable_timeout: {written}\n")).spec("1").unreachable_timeout == expected
    )


@pytest.mark.parametrize("written", ["true", "false", "always"])
def test_loop(parse: Parse, written: str) -> None:
    assert parse(job(f"  loop: {written}\n")).spec("1").loop == Loop(written)


def test_new_keys(parse: Parse, worker: Path) -> None:
    text = job(
        "  on_end: delete\n  max_restarts: 0\n  session: process\n  pipefail: false\n"
        "  queue: {config: queue_machines/tasks.yaml, idle_timeout: 10m}\n",
        rest="ssh: {port: 2222, options: {ServerAliveInterval: 5}}\n",
    )
    file = parse(text)
    spec = file.spec("1")
    assert (spec.on_end, spec.max_restarts, spec.session, spec.pipefail) == (
        OnEnd.DELETE,
        0,
        "process",
        False,
    )
    assert isinstance(spec.work, QueueMode)
    assert spec.work.idle_timeout == 600
    assert spec.sections["ssh"] == {
        "identities": [],
        "port": 2222,
        "options": {"ServerAliveInterval": "5"},
    }
    assert file.notes == ("ssh is passed over: hosts of cloud 'local' are folders of this machine",)


def test_what_is_told_to_a_cloud_alone_is_noted_where_there_is_none(parse: Parse) -> None:
    told = "startup_script: install, tags: [x], flags: null"
    text = f"job: {{name: n}}\ntpu: {{cloud: local, accelerator: v4-8, {told}}}\n"
    (note,) = parse(text).notes
    why = "hosts of cloud 'local' are folders of this machine"
    assert note == f"tpu.tags, tpu.startup_script passed over: {why}"
    assert parse(text.replace("cloud: local", "zone: z")).notes == ()


@pytest.mark.parametrize("name", ["StrictHostKeyChecking", "controlpath", "User"])
def test_an_option_of_ssh_that_jobman_sets_itself_is_a_fault(parse: Parse, name: str) -> None:
    with pytest.raises(ConfigError, match=f"ssh.options.{name}: jobman sets {name} itself"):
        parse(job(rest=f"ssh: {{options: {{{name}: x}}}}\n"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ('{" ControlPath": x}', "' ControlPath' is no setting of ssh_config"),
        ('{"Port 1": x}', "'Port 1' is no setting of ssh_config"),
        ('{"-F": x}', "'-F' is no setting of ssh_config"),
        ('{ProxyJump: ""}', "it must be one line of plain text"),
        ('{ProxyJump: "a\\nb"}', "it must be one line of plain text"),
        ("[User=x]", "jobman sets User itself: write remote_user"),
    ],
)
def test_an_option_that_ssh_would_not_take_as_one_is_a_fault(
    parse: Parse, options: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=f"ssh.options.*: {message}"):
        parse(job(rest=f"ssh: {{options: {options}}}\n"))


def test_more_zones_become_more_places_each_once(parse: Parse) -> None:
    text = job(tpu="  zone: a-1\n  zones: [b-1, a-1, c-1, b-1]\n")
    assert [request.zone for request in parse(text).spec("1").candidates] == ["a-1", "b-1", "c-1"]


def test_accelerators_have_one_name(parse: Parse) -> None:
    file = parse(job().replace("v4-32", "v5e-16"))
    assert file.accelerator == "v5litepod-16"
    assert file.spec("1").candidates[0].runtime == "v2-alpha-tpuv5-lite"


@pytest.mark.parametrize("place", ["  prefix: |\n    echo hi\n", "  prefix:\n    - echo hi\n"])
def test_a_plain_prefix_of_older_files(parse: Parse, place: str) -> None:
    (script,) = parse(job(place)).spec("1").prefix
    assert (script.name, script.run.strip(), script.workers) == (
        "prefix-1",
        "echo hi",
        Workers((0,)),
    )


def test_prefix_scripts_of_both_places_run_in_order(parse: Parse, worker: Path) -> None:
    text = job(
        "  prefix: [{run: one, workers: all, required: true}]\n"
        "  queue: {config: queue_machines/tasks.yaml, prefix: [{name: b, run: two}]}\n"
    )
    first, second = parse(text).spec("1").prefix
    assert (first.run, first.workers, first.required) == ("one", Workers("all"), True)
    assert (second.name, second.run) == ("b", "two")


def test_sections_that_env_type_does_not_choose_may_be_incomplete(parse: Parse) -> None:
    rest = "docker: {flags: ['--rm'], env_vars: [A=b=c]}\nconda: {config_file: x.yaml}\n"
    assert parse(job(rest=rest)).spec("1").sections == {}


def test_variables_of_docker_are_a_list_or_a_map(bare: Surroundings, home: Path) -> None:
    for pairs in ("[A=b=c, B=]", "{A: b=c, B: null}"):
        with pytest.raises(ConfigError) as caught:
            parse_job(
                job("  env_type: docker\n", rest=f"docker: {{image: x, env_vars: {pairs}}}\n"),
                home / "job.yaml",
                bare,
            )
        (fault,) = caught.value.faults
        assert fault.key == "job.env_type"


def test_mail_settings_of_an_old_version_are_noted(parse: Parse) -> None:
    (note,) = parse(job(rest="brevo_email: {api_key: null, sender: x}\n")).notes
    assert "jobman-notify-email" in note


def test_all_cache_keys(parse: Parse) -> None:
    rest = """
gcsfuse:
  bucket_name: my-bucket
  mount_path: /home/user/gcs-checkpoint
  extra_mounts:
    - mount_path: /home/user/gcs-data
      cache:
        dir: /mnt/ramdisk
        metadata_ttl_secs: -1
        stat_cache_max_size_mb: -1
        type_cache_max_size_mb: -1
        file_cache_max_size_mb: 550000
        cache_file_for_range_read: true
        enable_parallel_downloads: true
        prefix: |
          sudo mkdir -p /mnt/ramdisk ${HOME}
"""
    (mount,) = parse(job(rest=rest)).spec("1").sections["gcsfuse"]["extra_mounts"]
    assert mount["cache"] == {
        "dir": "/mnt/ramdisk",
        "metadata_ttl_secs": -1,
        "stat_cache_max_size_mb": -1,
        "type_cache_max_size_mb": -1,
        "file_cache_max_size_mb": 550000,
        "cache_file_for_range_read": True,
        "enable_parallel_downloads": True,
        "prefix": "sudo mkdir -p /mnt/ramdisk ${HOME}\n",
    }


def test_a_cloud_of_a_plugin_gives_its_section_a_shape(parse: Parse, home: Path) -> None:
    (home / "key").write_text("")
    tpu = "  zone: z\n  namespace: lab\n  limits: {cpu: 3}\n  key_file: key\n"
    spec = parse(job(tpu=tpu).replace("cloud: local", "cloud: pods")).spec("1")
    assert spec.candidates[0].options == {
        "namespace": "lab",
        "color": "red",
        "limits": {"cpu": 3},
        "key_file": str(home / "key"),
    }


def test_faults_of_a_plugins_section_read_like_any_other(faults: Faults) -> None:
    tpu = "  zone: z\n  color: gren\n  limits: {cpu: x}\n  namespaze: lab\n"
    assert faults(job(tpu=tpu).replace("cloud: local", "cloud: pods")) == [
        "7:10: tpu.color: 'gren' is not possible: use one of red, blue",
        "8:17: tpu.limits.cpu: it must be a whole number, not 'x'",
        "9:3: tpu.namespaze: unknown key 'namespaze' (did you mean 'namespace'?)",
    ]


def test_a_section_of_a_plugin_is_named_after_it(parse: Parse, home: Path) -> None:
    (home / "flake.lock").write_text("")
    text = job("  env_type: nix\n", rest="nix: {flake: .#dev, lock: flake.lock}\n")
    assert parse(text).spec("1").sections == {
        "nix": {"flake": ".#dev", "lock": str(home / "flake.lock")}
    }
    # Not chosen, it is looked at and passed over.
    assert parse(job(rest="nix: {lock: null}\n")).spec("1").sections == {}


def test_settings_give_what_a_file_leaves_out(around: Surroundings, home: Path) -> None:
    settings = Settings(cloud="local", session="process", project="lab")
    with_settings = attrs.evolve(around, settings=settings)
    text = "job: {name: a}\ntpu: {accelerator: v4-8}\n"
    file = parse_job(text, home / "job.yaml", with_settings)
    assert (file.cloud, file.session, file.zone) == ("local", "process", "local")
    assert file.spec("1").candidates[0].options == {"project": "lab"}
    # A job keeps what it was created with.
    assert 'cloud: "local"' in file.snapshot("1")


def test_paths_are_looked_up_from_the_home_and_then_from_the_file(
    around: Surroundings, home: Path
) -> None:
    folder = home / "deep"
    folder.mkdir()
    (folder / "tasks.yaml").write_text("")
    text = job("  queue: {config: tasks.yaml}\n")
    file = parse_job(text, folder / "job.yaml", around)
    assert file.queue == str(folder / "tasks.yaml")
    (home / "tasks.yaml").write_text("")
    assert parse_job(text, folder / "job.yaml", around).queue == str(home / "tasks.yaml")


# -- faults ----------------------------------------------------------------------------------


def test_all_faults_are_told_at_once(faults: Faults) -> None:
    text = """\
job:
  nam: x
  loop: maybe
  remote_user: Bad
  environment: {1x: a, JOBMAN_JOB_ID: b, A: [1]}
tpu:
  cloud: gcp
  accelarator: v4-8
comand: {}
"""
    assert faults(text) == [
        "2:3: job.nam: unknown key 'nam' (did you mean 'name'?)",
        "3:9: job.loop: it must be true, false or always, not 'maybe'",
        "4:16: job.remote_user: 'Bad' is no user name: use small letters, digits, - and _",
        (
            "5:21: job.environment.1x: '1x' is no name of a shell variable: use letters, digits "
            "and _, and none that bash keeps for itself"
        ),
        (
            "5:39: job.environment.JOBMAN_JOB_ID: 'JOBMAN_JOB_ID' is jobman's own: names beginning "
            "with JOBMAN_ are taken"
        ),
        "5:45: job.environment.A: it must be text, not a list",
        "6:1: tpu.zone: it is missing: write `zone:` with its value",
        "8:3: tpu.accelarator: unknown key 'accelarator' (did you mean 'accelerator'?)",
        "9:1: comand: unknown section 'comand' (did you mean 'command'?)",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "tpu: {cloud: local, accelerator: v4-8}\n",
            "1:1: job: it is missing: write `job:` with `name:` in it",
        ),
        (
            "job:\ntpu: {cloud: local, accelerator: v4-8}\n",
            "1:1: job: it is missing: write `job:` with `name:` in it",
        ),
        (
            "job: {name: x}\n",
            "1:1: tpu: it is missing: write `tpu:` with `accelerator:` and `zone:` in it",
        ),
        ("job: {name: x}\ntpu: [1]\n", "2:6: tpu: it must be a section with keys of its own"),
        (
            "job: {loop: true}\ntpu: {cloud: local, accelerator: v4-8}\n",
            "1:1: job.name: it is missing: write `name:` with its value",
        ),
        (
            "job:\n  name: null\ntpu: {cloud: local, accelerator: v4-8}\n",
            "2:3: job.name: it is missing: write `name:` with its value",
        ),
        (
            "job: {name: ''}\ntpu: {cloud: local, accelerator: v4-8}\n",
            "1:13: job.name: it is empty: write a value",
        ),
        (
            'job: {name: "a\\nb"}\ntpu: {cloud: local, accelerator: v4-8}\n',
            "1:13: job.name: it must be one line of plain text, not 'a\\nb'",
        ),
        (
            "job: {name: x}\ntpu:\n  cloud: local\n",
            "2:1: tpu.accelerator: it is missing: write `accelerator:` with its value",
        ),
        (
            job().replace("v4-32", "v9-8"),
            (
                "5:16: tpu.accelerator: unknown accelerator 'v9-8': use one of v2-N, v3-N, v4-N, "
                "v5p-N, v5litepod-N, v6e-N, v5e-N"
            ),
        ),
        (
            job(tpu="  pricing: on-demand\n"),
            "6:12: tpu.pricing: 'on-demand' is not possible (did you mean 'ondemand'?)",
        ),
        (
            job(tpu="  allocation_mode: vm\n"),
            "6:20: tpu.allocation_mode: 'vm' is not possible: use one of tpu-vm, queued-resources",
        ),
        (job(tpu="  zone: a b\n"), "6:9: tpu.zone: 'a b' is no zone: write one like us-central1-b"),
        (
            job(tpu="  flags: --project=x\n"),
            "6:10: tpu.flags: it must be a list (entries begin with `- `), not '--project=x'",
        ),
        (
            job(tpu="  zone: nowhere\n").replace("local", "gcp"),
            "6:9: tpu.zone: there is no such zone: write one like us-central1-b",
        ),
        (
            job(rest="command: {cmd: x, workers: [9]}\n"),
            "6:29: command.workers[0]: there is no host 9: the slice has hosts 0 to 3",
        ),
        (
            job(rest="command: {cmd: x, workers: 1}\n").replace("v4-32", "v4-8"),
            "6:28: command.workers: there is no host 1: the slice has only host 0",
        ),
        (
            job("  prefix: [{run: x, workers: [0, 4]}]\n"),
            "3:34: job.prefix[0].workers[1]: there is no host 4: the slice has hosts 0 to 3",
        ),
        (
            job(rest="command: {cmd: x, workers: [1, 1]}\n"),
            "6:28: command.workers: host 1 is named twice: name each once",
        ),
        (
            job(rest="command: {cmd: x, workers: -1}\n"),
            "6:28: command.workers: a host is an index from 0 on, or \"all\", not '-1'",
        ),
        (
            job(rest="command: {cmd: x, workers: true}\n"),
            "6:28: command.workers: a host is an index from 0 on, or \"all\", not 'true'",
        ),
        (
            job(rest="command: {cmd: x, workers: []}\n"),
            (
                '6:28: command.workers: it must be a host\'s index, a list of them, or "all", not '
                "a list"
            ),
        ),
        (
            job(rest="command: {cmd: '  '}\n"),
            "6:16: command.cmd: the script is empty: write what to run, or take the key out",
        ),
        (
            job(rest="command: {workers: 0}\n"),
            "6:1: command.cmd: it is missing: write `cmd:` with its value",
        ),
        (
            job("  queue: {enabled: true}\n"),
            (
                "3:3: job.queue.config: it is missing: write `config:` with the tasks file, or "
                "`enabled: false`"
            ),
        ),
        (
            job("  worker_num: a/b\n"),
            "3:15: job.worker_num: 'a/b' cannot end a name: write auto, a number or one word",
        ),
        (
            job("  max_restarts: -1\n"),
            "3:17: job.max_restarts: it must be 0 or more, not -1",
        ),
        (
            job("  max_restarts: '3'\n"),
            "3:17: job.max_restarts: it must be a whole number, not '3'",
        ),
        (
            job("  unreachable_timeout: soon\n"),
            (
                "3:24: job.unreachable_timeout: 'soon' is no duration: write seconds, or something "
                "like 90s, 10m, 2h, 1d"
            ),
        ),
        (
            job("  on_end: stop\n"),
            "3:11: job.on_end: 'stop' is not possible: use one of keep, delete",
        ),
        (job("  session: tmux\n"), "3:12: job.session: tmux is not on this machine: install it"),
        (
            job("  env_type: venv\n"),
            "3:13: job.env_type: there is no section 'venv': write one, or take env_type out",
        ),
        (
            job("  env_type: venv\n", rest="venv: {name: x, python: python2}\n"),
            "7:25: venv.python: Python 2 is gone: use python3",
        ),
        (
            job("  prefix: [{name: a, run: x}, {name: a, run: y}]\n"),
            (
                "3:38: job.prefix[1].name: two prefix scripts are called 'a': give each a name of "
                "its own"
            ),
        ),
        (
            job(rest="gcsfuse: {bucket_name: b, mount_path: /m, extra_mounts: {cache: {}}}\n"),
            "6:43: gcsfuse.extra_mounts: it must be a list (entries begin with `- `), not a map",
        ),
        (
            job(rest="gcsfuse: {bucket_name: b}\n"),
            "6:1: gcsfuse.mount_path: it is missing: write `mount_path:` with its value",
        ),
        (
            job(rest="docker: {imgae: x}\n"),
            "6:10: docker.imgae: unknown key 'imgae' (did you mean 'image'?)",
        ),
        (
            job("  environment: x\n"),
            "3:16: job.environment: it must be a map of names and values, not 'x'",
        ),
        (
            job("  prefix: {run: x}\n"),
            "3:3: job.prefix: it must be a list of {name, workers, required, run}, not a map",
        ),
        (
            job("  prefix: [[x]]\n"),
            "3:12: job.prefix[0]: it must be a map of keys, not a list",
        ),
        (
            job(rest="ssh: {port: 70000}\n"),
            "6:13: ssh.port: 70000 is no port: use 1 to 65535",
        ),
        (
            job(rest="ssh: {identities: [{public_key: x}]}\n"),
            (
                "6:20: ssh.identities[0].private_key: it is missing: write `private_key:` with its "
                "value"
            ),
        ),
    ],
)
def test_what_is_wrong_and_where(faults: Faults, text: str, expected: str) -> None:
    assert faults(text) == [expected]


def test_the_keys_that_there_are_are_told_in_the_same_order_each_time(faults: Faults) -> None:
    (fault,) = faults(job(tpu="  qqq: 1\n"))
    keys = fault.partition("use one of ")[2].split(", ")
    assert len(keys) > 10
    assert keys == sorted(keys)


def test_a_tasks_file_must_exist(faults: Faults, home: Path) -> None:
    assert faults(job("  queue: {config: no.yaml}\n")) == [
        f"3:19: job.queue.config: there is no such tasks file: looked for {home / 'no.yaml'}"
    ]


def test_a_name_that_clouds_would_refuse_is_told_of_before_anything_is_created(
    faults: Faults,
) -> None:
    (fault,) = faults(job().replace("hello", "x" * 60))
    assert re.fullmatch(r"2:9: job.name: the slice would be called .* 11 characters shorter", fault)


def test_a_long_word_for_a_suffix_counts_as_well(faults: Faults) -> None:
    (fault,) = faults(job(f"  worker_num: {'w' * 30}\n").replace("hello", "x" * 40))
    assert "15 characters shorter" in fault


def test_backends_that_are_not_installed_say_what_to_install(
    bare: Surroundings, worker: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        read_job(worker, bare)
    told = {fault.key: fault.message for fault in caught.value.faults}
    assert set(told) == {"tpu.cloud", "job.env_type", "gcsfuse"}
    assert "install jobman-gcp" in told["tpu.cloud"]
    assert "install jobman-venv" in told["job.env_type"]
    assert "install jobman-gcsfuse" in told["gcsfuse"]


def test_a_session_that_is_not_installed(bare: Surroundings, home: Path) -> None:
    with pytest.raises(ConfigError, match="install jobman-screen"):
        parse_job(job("  session: screen\n"), home / "job.yaml", bare)


def test_a_zone_that_the_cloud_refuses_among_others(faults: Faults) -> None:
    text = job(tpu="  zone: us-central1-b\n  zones: [nowhere]\n").replace("local", "gcp")
    assert faults(text) == [
        "7:10: tpu.zones: nowhere: there is no such zone: write one like us-central1-b"
    ]


def test_without_any_session_there_is_no_job(home: Path) -> None:
    class Cloudy:
        @hookimpl
        def jobman_clouds(self) -> Sequence[type[Cloud]]:
            return (Lonely,)

    class Lonely(FakeCloud):
        name = "lonely"

    plugins = Plugins(lambda: {"cloudy": Cloudy()}, disabled="tmux,screen,process,gcp,local")
    text = "job: {name: a}\ntpu: {cloud: lonely, accelerator: v4-8, zone: z}\n"
    with pytest.raises(ConfigError, match=r"job\.session: no session is called 'process'"):
        parse_job(text, home / "job.yaml", Surroundings(Home(home), plugins))


def test_an_environment_that_nothing_names_is_passed_over_with_a_note(parse: Parse) -> None:
    file = parse(job(rest="docker: {image: a}\nconda:\n"))
    assert file.notes == ("docker is passed over: `env_type: docker` below job lets it count",)


def test_one_of_several_environments_is_no_news(parse: Parse) -> None:
    assert parse(job("  env_type: venv\n", rest="venv: {name: a}\nconda: {name: b}\n")).notes == ()


def test_secrets_stand_in_no_fault(faults: Faults) -> None:
    (fault,) = faults(job(rest="docker: {env_vars: [s3cret]}\n"))
    assert fault == (
        "6:21: docker.env_vars[0]: it must be KEY=VALUE: write the name, =, and the value"
    )


def test_secrets_stand_in_no_representation(parse: Parse) -> None:
    file = parse(job("  environment: {TOKEN: s3cret}\n"))
    assert "s3cret" not in repr(file)
    assert "s3cret" not in repr(file.spec("1"))
