"""The files of the demo: one job file for both workers, and four tasks."""

import json
from pathlib import Path
from typing import Final, NamedTuple

#: Which task does what in the play.
FIRST: Final = "tokenize"
FLAKY: Final = "fetch"
LONG: Final = "train"
LAST: Final = "evaluate"
WORKERS: Final = 2
STEPS: Final = 8

_WORKER: Final = """\
# One worker: it gets a slice, takes tasks from the queue, and goes on when the slice is lost.
job:
  name: worker
  loop: true
  session: process
  environment:
    # What a bucket is for real slices: it outlives them.
    CHECKPOINTS: {checkpoints}
  queue:
    enabled: true
    config: {tasks}
tpu:
  cloud: local
  accelerator: v4-8
  zone: local-a
  name: demo
"""

_TASKS: Final = f"""\
accelerators:
  v4-8:
    tasks:
      - id: {FIRST}
        run: |
          for shard in 1 2 3 4; do
            echo "tokenized shard $shard of 4"
            sleep 0.5
          done

      - id: {FLAKY}
        max_retries: 3
        run: |
          echo "fetching the validation set"
          sleep 1
          if [ "$JOBMAN_ATTEMPT" = 1 ]; then
            echo "connection reset by peer" >&2
            exit 1
          fi
          echo "fetched the validation set"

      - id: {LONG}
        depends_on: [{FIRST}]
        run: |
          done=$(cat "$CHECKPOINTS/step" 2>/dev/null || echo 0)
          echo "starting after step $done"
          for step in $(seq $((done + 1)) {STEPS}); do
            sleep 0.7
            echo "step $step of {STEPS}, loss 0.$((100 / (step + 1)))"
            echo "$step" > "$CHECKPOINTS/step.new"
            mv "$CHECKPOINTS/step.new" "$CHECKPOINTS/step"
          done

      - id: {LAST}
        depends_on: [{LONG}, {FLAKY}]
        run: |
          echo "evaluating"
          sleep 1
          echo "accuracy 0.93"
"""


class Files(NamedTuple):
    """Where they are."""

    home: Path
    worker: Path
    tasks: Path
    checkpoints: Path


def write(home: Path) -> Files:
    """Write the files of the demo into a folder."""
    files = Files(home, home / "worker.yaml", home / "tasks.yaml", home / "checkpoints")
    files.checkpoints.mkdir()
    # JSON's strings are YAML's as well.
    worker = _WORKER.format(
        checkpoints=json.dumps(str(files.checkpoints)), tasks=json.dumps(str(files.tasks))
    )
    files.worker.write_text(worker)
    files.tasks.write_text(_TASKS)
    return files
