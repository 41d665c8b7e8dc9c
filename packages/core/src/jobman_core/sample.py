"""Commented job and tasks files to begin with: written only if they are without faults."""

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import attrs

from jobman_core.config.interpolate import literal
from jobman_core.config.nodes import FALSE, NULLS, TRUE
from jobman_core.config.snapshot import quote
from jobman_core.config.surroundings import Surroundings
from jobman_core.create import validate_file
from jobman_core.errors import ConfigError, InvalidInputError, instead
from jobman_core.home import Home
from jobman_core.models.accelerator import Accelerator
from jobman_core.models.sample import LOCAL, Sample

_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
#: Columns that a key and its value have before the comment.
_WIDTH: Final = 26
_ENVIRONMENTS: Final = {
    "venv": """\
  # requirements_file: requirements.txt
  # python: "3.11"
""",
    "conda": "  # config_file: environment.yml\n",
    "docker": '  # env_vars: {WANDB_API_KEY: "${oc.env:WANDB_API_KEY}"}\n',
}
_TASKS: Final = """\
# The tasks of worker.yaml. Any number of workers take them:
#   jobman create worker.yaml --count 2
#   jobman queue tasks.yaml
defaults:
  max_retries: 3          # attempts in all; a lost slice does not count
  # repo: code            # check out what `repos` names before each task
# repos:
#   code: https://github.com/me/my-repo

accelerators:
  {accelerator}:
    tasks:
      - id: prepare
        run: echo "preparing the data"

      - id: train-seed-1
        depends_on: prepare
        workers: all      # each host runs it; by default host 0 alone
        run: |
          echo "training on host $JOBMAN_WORKER_ID, attempt $JOBMAN_ATTEMPT"

      - id: train-seed-2
        depends_on: prepare
        workers: all
        run: |
          echo "training on host $JOBMAN_WORKER_ID, attempt $JOBMAN_ATTEMPT"
"""


def texts(sample: Sample) -> Mapping[str, str]:
    """Give the files of a sample: their names and what they say.

    Raises:
        InvalidInputError: there is no such accelerator or environment.
    """
    if sample.command is not None:
        return {"job.yaml": _job(sample, "job.yaml", "One command on one slice.")}
    title = "A queue worker: it takes tasks from tasks.yaml."
    tasks = _TASKS.format(accelerator=_accelerator(sample).name)
    return {"worker.yaml": _job(sample, "worker.yaml", title), "tasks.yaml": tasks}


def write(sample: Sample, folder: Path, around: Surroundings, *, force: bool) -> list[Path]:
    """Write the files of a sample; all of them, or none.

    Args:
        sample: what they say.
        folder: where they go; it is made.
        around: what they are checked against.
        force: what is there already is overwritten.

    Raises:
        InvalidInputError: one of them is there already, or has faults.
    """
    folder, found = folder.absolute(), texts(sample)
    taken = [name for name in found if os.path.lexists(folder / name)]
    if taken and not force:
        msg = f"{folder / taken[0]} is there already: name another folder, or --force overwrites it"
        raise InvalidInputError(msg)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".jobman-", dir=folder) as aside:
            # Other files of those names are not what is checked.
            around = attrs.evolve(around, home=Home(Path(aside)))
            for name, text in found.items():
                (Path(aside) / name).write_text(text, "utf-8")
            faults = [
                attrs.evolve(fault, path=str(folder / name))
                for name in found
                for fault in validate_file(Path(aside) / name, around).faults
            ]
            if faults:
                raise ConfigError(faults)
            for name in found:
                (Path(aside) / name).replace(folder / name)
    except OSError as error:
        msg = f"{folder} cannot be written ({error.strerror}): name another folder"
        raise InvalidInputError(msg) from error
    return [folder / name for name in found]


def _job(sample: Sample, file: str, title: str) -> str:
    lines = [f"# {title}", f"#   jobman validate {file}", f"#   jobman create {file}"]
    parts = (_about_job, _about_slice, _about_command, _about_environment, _about_bucket)
    sections = ("\n".join(lines) + "\n" for part in parts if (lines := [*part(sample)]))
    return "\n".join([*lines, "\n".join(sections)])


def _said(key: str, comment: str) -> str:
    return f"{key:<{_WIDTH}}# {comment}" if len(key) < _WIDTH else f"{key}  # {comment}"


def _about_job(sample: Sample) -> Iterator[str]:
    yield "job:"
    yield _said(f"  name: {_scalar(sample.name)}", "a suffix makes it unique")
    yield _said("  loop: true", "get another slice when this one is lost, retry after a failure")
    if sample.environment is not None:
        yield f"  env_type: {_scalar(sample.environment)}"
    yield _said("  # environment:", "variables for all that runs")
    yield "  #   WANDB_MODE: offline"
    if sample.command is None:
        yield "  queue:"
        yield "    enabled: true"
        where = "looked up from the home, then from the folder of this file"
        yield _said("    config: tasks.yaml", where)
        yield _said("    idle_timeout: 10m", "without a task for so long, the slice is given back")


def _about_slice(sample: Sample) -> Iterator[str]:
    accelerator = _accelerator(sample)
    local = sample.cloud == LOCAL
    yield "tpu:"
    where = "this machine: each host is a folder" if local else "where slices come from"
    yield _said(f"  cloud: {_scalar(sample.cloud)}", where)
    size = f"{accelerator.hosts} host{'s'[: accelerator.hosts != 1]}, {accelerator.chips} chips"
    yield _said(f"  accelerator: {accelerator.name}", size)
    yield f"  zone: {_scalar(sample.zone)}"
    yield _said("  # zones: [another]", "tried in turn when the first has no capacity")
    if local:
        return
    spot = ("spot", "costs less, and can be taken away at any time")
    pricing, why = spot if sample.spot else ("ondemand", "stays until it is given back")
    yield _said(f"  pricing: {pricing}", why)
    yield _said("  allocation_mode: queued-resources", "wait in the cloud's own queue")
    yield _said(f"  # version: {accelerator.runtime}", "the runtime of the hosts, by default")
    yield _said("  # project: my-project", "by default the account's")


def _about_command(sample: Sample) -> Iterator[str]:
    if sample.command is not None:
        yield "command:"
        yield _said("  workers: all", "or the index of a host, or a list")
        yield f"  cmd: {_script(sample.command)}"


def _about_environment(sample: Sample) -> Iterator[str]:
    kind = sample.environment
    if kind is None:
        return
    if kind not in _ENVIRONMENTS:
        msg = f"no environment is called {kind!r}: {instead(kind, [*_ENVIRONMENTS])}"
        raise InvalidInputError(msg)
    yield f"{kind}:"
    if kind == "docker":
        yield "  image: python:3.11-slim"
    else:
        yield _said(f"  name: {_scalar(f'{sample.name}-env')}", "made on each host")
    yield _ENVIRONMENTS[kind].rstrip("\n")


def _about_bucket(sample: Sample) -> Iterator[str]:
    if sample.bucket is not None:
        yield "gcsfuse:"
        yield f"  bucket_name: {_scalar(sample.bucket)}"
        yield _said("  mount_path: ~/bucket", "what is written there outlives the slice")


def _accelerator(sample: Sample) -> Accelerator:
    try:
        return Accelerator.parse(sample.accelerator)
    except ValueError as error:
        raise InvalidInputError(str(error)) from error


def _scalar(text: str) -> str:
    """Write a text so that it is read as it is."""
    word = text.lower()
    plain = _PLAIN.fullmatch(text) and word not in TRUE | FALSE and text not in NULLS
    return text if plain else quote(literal(text))


def _script(text: str) -> str:
    """Write a script as people would, where that says the same."""
    lines = text.rstrip("\n").split("\n")
    if lines[0][:1] in ("", " ") or not all(line.isprintable() for line in lines):
        return quote(text)
    return "|\n" + "\n".join(f"    {line}" if line else "" for line in lines)
