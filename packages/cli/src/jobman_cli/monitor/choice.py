"""What somebody wants to see of the live view, and how they sort it; kept between calls."""

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import attrs

#: The parts, in the order in which they are shown.
PARTS: Final = ("jobs", "slices", "queues", "log")


@attrs.frozen
class Choice:
    """What is shown, and in which order."""

    parts: tuple[str, ...] = PARTS
    #: By part: the name of the order, and whether it is turned round.
    orders: Mapping[str, tuple[str, bool]] = attrs.field(factory=dict)

    def switched(self, part: str) -> "Choice":
        """Show a part, or hide it; the last one stays."""
        parts = tuple(p for p in PARTS if (p in self.parts) != (p == part))
        return attrs.evolve(self, parts=parts or self.parts)

    def ordered(self, part: str, name: str, *, turned: bool) -> "Choice":
        """Sort a part otherwise."""
        return attrs.evolve(self, orders={**self.orders, part: (name, turned)})


def parts_of(text: str) -> tuple[str, ...]:
    """Read the value of ``--show``.

    Raises:
        InvalidInputError: it names no part, or one that there is not.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    wrong = [name for name in names if name not in PARTS]
    if wrong or not names:
        from jobman_core.errors import InvalidInputError

        what = f"{wrong[0]!r} is no part of the view" if wrong else "no part is named"
        msg = f"--show: {what}: name some of {', '.join(PARTS)}, with commas between"
        raise InvalidInputError(msg)
    return tuple(part for part in PARTS if part in names)


def place_of(env: Mapping[str, str]) -> Path:
    """Give the file that keeps a person's choice."""
    state = env.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")  # noqa: PTH111 - Path's own raises
    return Path(state) / "jobman" / "monitor.json"


def load(path: Path) -> Choice:
    """Give what was chosen last; what cannot be read is the same as nothing."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        parts = tuple(part for part in PARTS if part in kept["parts"])
        orders = {
            part: (str(name), bool(turned))
            for part, (name, turned) in kept["orders"].items()
            if part in PARTS
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Choice()
    return Choice(parts or PARTS, orders)


def save(path: Path, choice: Choice) -> None:
    """Keep a choice; where that is impossible, the next call shows what this one began with."""
    new = path.with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(json.dumps(attrs.asdict(choice)) + "\n", encoding="utf-8")
        new.replace(path)
