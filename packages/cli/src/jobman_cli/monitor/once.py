"""One look, printed: for ``--once``, pipes and ``--json``."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import attrs

from jobman_cli import documents, output
from jobman_cli.monitor.choice import Choice
from jobman_cli.monitor.fit import fit, line
from jobman_cli.monitor.parts import Part, Scope, summary
from jobman_cli.output import Cell

if TYPE_CHECKING:
    from jobman_core.models.event import Event
    from jobman_core.models.overview import Overview, QueueLook
    from jobman_core.models.slice import Slice

#: So many of the newest events are printed.
_EVENTS: Final = 10


def lines(
    look: "Overview",
    parts: Sequence[Part[Any]],
    scope: Scope,
    *,
    choice: Choice,
    now: datetime,
    room: int | None,
    paint: output.Paint = output.plain,
) -> list[str]:
    """Give the whole view as lines; parts that have nothing are left out."""
    printed = ["  ".join(paint(cell.text, cell.colour) for cell in summary(look, scope))]
    for part in parts:
        order, turned = choice.orders.get(part.name, ("", False))
        items = part.arrange(look, scope, order, now, turned=turned)
        if part.name == "log":
            items = items[:_EVENTS]
        rows = [part.cells(item, now) for item in items]
        if not rows:
            continue
        places = fit(part.columns, rows, room)
        heads = [Cell(column.head, "bold") for column in part.columns]
        printed.append("")
        for row in (heads, *rows):
            cells = line(row, places)
            printed.append("".join(paint(cell.text, cell.colour) for cell in cells).rstrip())
    return printed


def document(look: "Overview", parts: Sequence[Part[Any]], scope: Scope, now: datetime) -> Any:  # noqa: ANN401 - JSON
    """Give the parts of the view as ``--json`` has them."""
    shapes: dict[str, Callable[[Any], documents.Document]] = {
        "jobs": documents.job,
        "slices": _slice,
        "queues": lambda entry: _queue(entry.queue),
        "log": _event,
    }
    return {
        part.name: [shapes[part.name](item) for item in part.arrange(look, scope, "", now)]
        for part in parts
    }


def _slice(found: "Slice") -> documents.Document:
    hosts = len(found.hosts)
    return {"job": found.job, **documents.slice_(found), "hosts": hosts}


def _queue(found: "QueueLook") -> documents.Document:
    return {
        "path": found.tally.queue.path,
        "problem": found.tally.queue.problem or None,
        "counts": {str(status): number for status, number in found.tally.counts.items()},
        "workers": {
            accelerator: {kind: [*jobs] for kind, jobs in attrs.asdict(workers).items()}
            for accelerator, workers in found.workers.items()
        },
    }


def _event(event: "Event") -> documents.Document:
    return {**documents.event(event), "job": event.job, "task": event.task}
