"""Job files for Cloud TPU: what is refused at ``create``, and what a dry run shows."""

from pathlib import Path

import asyncssh
import pytest
from tests.support.lab import Lab

pytestmark = pytest.mark.e2e

JOB = """\
    job: {name: NAME, remote_user: ada}
    tpu:
      accelerator: v4-16
      zone: us-central2-b
      allocation_mode: queued-resources
      pricing: spot
    MORE
    command: {cmd: "true"}
"""


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path / "lab")


def job(lab: Lab, *, name: str = "train", more: str = "") -> Path:
    return lab.write("job.yaml", JOB.replace("NAME", name).replace("    MORE\n", more))


def test_gcp_is_the_cloud_of_a_file_that_names_none_and_is_not_asked_in_a_dry_run(lab: Lab) -> None:
    said = lab.run("create", job(lab, more="      project: vision\n"), "--dry-run")
    assert "projects/vision/locations/us-central2-b/queuedResources" in said.out
    assert "train-" in said.out


def test_a_dry_run_names_the_keys_that_are_let_in_and_shows_no_secret(lab: Lab) -> None:
    key = lab.root / "key"
    asyncssh.generate_private_key("ssh-ed25519").write_private_key(key)
    key.chmod(0o600)
    tpu = "      project: vision\n      metadata: {token: hunter2}\n"
    more = f"{tpu}    ssh: {{private_key: {key}}}\n"
    said = lab.run("create", job(lab, more=more), "--dry-run")
    assert f"ada: ssh-ed25519 {asyncssh.read_private_key(key).get_fingerprint()}" in said.out
    assert "hunter2" not in said.out + said.err
    key.unlink()
    said = lab.run("create", job(lab, more=more), "--dry-run", code=2)
    assert f"ssh.private_key: the key file {key} is not there" in said.err


def test_a_dry_run_shows_what_is_done_on_hosts_in_turn_and_nothing_secret(lab: Lab) -> None:
    key = lab.root / "person/.ssh/deploy"
    key.parent.mkdir()
    asyncssh.generate_private_key("ssh-ed25519").write_private_key(key)
    lab.write("needs.txt", "-i https://me:hunter2@example.org/simple\n")
    more = """\
    tpu: {accelerator: v4-16, zone: us-central2-b, project: vision}
    ssh: {identities: [{private_key: ~/.ssh/deploy}]}
    gcsfuse: {bucket_name: data, mount_path: ~/gcs}
    venv: {name: mine, requirements_file: needs.txt}
"""
    text = JOB.replace("name: NAME", 'name: n, env_type: venv, prefix: "echo set up"')
    head, _, rest = text.partition("    tpu:")
    lab.env["STORAGE_EMULATOR_HOST"] = "http://127.0.0.1:9"
    file = lab.write("job.yaml", head + more + rest.partition("    MORE\n")[2])
    said = lab.run("create", file, "--dry-run")
    steps = said.out.partition("SSH identities")[2]
    assert (
        f"SSH identities{steps}"
        == """\
SSH identities, on all hosts:
  bash -c … jobman-identities 600 .ssh/deploy

storage gcsfuse, on all hosts:
  bash {script} apt
  bash {script} data gcs

environment venv, on all hosts:
  bash -c … jobman-venv mine '' uv 41

prefix script prefix-1, on host 0:
  echo set up

command, on all hosts:
  true
"""
    )
    secret = key.read_text().splitlines()[2]
    assert not any(word in said.out + said.err for word in ("hunter2", secret))


def test_f28_a_name_that_is_too_long_is_refused_at_create(lab: Lab) -> None:
    said = lab.run("create", job(lab, name="t" * 60), "--no-start", code=2)
    assert "characters shorter" in said.err
    assert lab.run("list").out.count("t" * 60) == 0


def test_an_unknown_flag_is_refused_at_create_by_its_name(lab: Lab) -> None:
    flags = '      flags: ["--network=lab", "--colour=red"]\n'
    said = lab.run("create", job(lab, more=flags), "--no-start", code=2)
    assert "tpu.flags: unknown flag --colour" in said.err


def test_the_labs_project_pays_for_jobs_that_name_none(lab: Lab) -> None:
    lab.write("jobman.yaml", "session: process\nclouds: {gcp: {project: shared}}\n")
    said = lab.run("create", job(lab), "--dry-run")
    assert "projects/shared/locations/" in said.out


def test_a_key_of_the_tpu_section_that_nobody_knows_is_a_fault(lab: Lab) -> None:
    said = lab.run("validate", job(lab, more="      colour: red\n"), code=2)
    assert "tpu.colour" in said.err + said.out
