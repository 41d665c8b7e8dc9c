"""A job of v3 as this home would have it."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import attrs

from jobman_core.command import quote
from jobman_core.config.job import JobFile, parse_snapshot
from jobman_core.config.nodes import Map, Scalar
from jobman_core.config.snapshot import quote as yaml_quote
from jobman_core.config.source import parse_source
from jobman_core.config.surroundings import Surroundings
from jobman_core.home import Home
from jobman_core.interfaces.store import JobDraft, OldJob, OldRun
from jobman_core.models.v3 import OldSlice, TakenJob
from jobman_core.v3.tree import OldFolder, OldTree

_RUN: Final = re.compile(r"command_run_([0-9]{1,9})_worker_[0-9]+\.log")
_PROJECT: Final = "--project="


@attrs.frozen
class OldFile:
    """What v3's copy of a job file says."""

    folder: OldFolder
    file: JobFile
    slice: OldSlice
    #: The tasks file, as v3 finds it.
    queue: Path | None

    @property
    def name(self) -> str:
        """The job's name, with its suffix."""
        return self.file.base_name

    def taken(self, id_: str) -> TakenJob:
        """Give it as it is told of, with its id here."""
        folder = self.folder
        return TakenJob(folder.id, id_, folder.user, self.name, self.slice)

    def draft(self, queue: str | None) -> JobDraft:
        """Give what the store must know; the tasks file is where this home has it."""
        draft = self.file.draft(self.folder.user)
        suffix = f"_{draft.worker_num or self.folder.id}"
        base = draft.base_name.removesuffix(suffix) or draft.base_name
        return attrs.evolve(draft, base_name=base, queue=queue)

    def old(self) -> OldJob:
        """Give what is known of its past."""
        ended: dict[int, datetime] = {}
        for path in sorted((self.folder.path / "logs").glob("command_run_*")):
            if found := _RUN.fullmatch(path.name):
                at = datetime.fromtimestamp(path.lstat().st_mtime, UTC)
                ended[int(found[1])] = max(at, ended.get(int(found[1]), at))
        runs = tuple(OldRun(number, at) for number, at in sorted(ended.items()))
        reason = "taken over from Jobman v3, and not started since"
        return OldJob(self.folder.id, self.name, self.folder.created, reason, runs)

    def snapshot(self, queue: str | None) -> str:
        """Give the text of its ``config.yaml`` here."""
        text = self.file.snapshot()
        if self.queue is not None and queue is not None:
            # The snapshot has it as an absolute path, written like this.
            text = text.replace(yaml_quote(str(self.queue)), yaml_quote(queue))
        return text


def read_old(folder: OldFolder, tree: OldTree, around: Surroundings) -> OldFile:
    """Read a job of v3.

    Raises:
        InvalidInputError: it cannot be read, or has faults.
    """
    text = folder.text()
    path = folder.path / "config.yaml"
    # What it names lies in v3's checkout.
    file = parse_snapshot(text, path, attrs.evolve(around, home=Home(tree.root)))
    queue = file.queue
    return OldFile(folder, file, _slice(text, path, file), Path(queue) if queue else None)


def _slice(text: str, path: Path, file: JobFile) -> OldSlice:
    tpu = parse_source(text, path).root.get("tpu")
    node = tpu.get("name") if isinstance(tpu, Map) else None
    written = node.text if isinstance(node, Scalar) and "$" not in node.text else ""
    name = written or file.base_tpu_name
    request = file.checked.candidates[0]
    kind = ("queued-resources", "--force") if request.mode == "queued-resources" else ("tpu-vm",)
    words = ["gcloud", "compute", "tpus", kind[0], "delete", name, "--zone", request.zone]
    if project := _project(request.options):
        words += ["--project", project]
    return OldSlice(name, request.zone, quote([*words, *kind[1:]]))


def _project(options: Any) -> str:  # noqa: ANN401 - as a cloud's section has them
    flags = options.get("flags") or ()
    said = [flag.removeprefix(_PROJECT) for flag in flags if flag.startswith(_PROJECT)]
    return str((said or [options.get("project") or ""])[-1])
