"""Writes the pages that nobody writes by hand: all keys of the files, and all commands.

    python -m docs.tools.generate

They are kept in the repository, so that they can be read there; a test tells when they are old.
"""

import contextlib
import io
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Final

from jobman_cli.commands import SECTIONS
from jobman_cli.front import Front
from jobman_cli.main import execute
from jobman_core.app import App
from jobman_core.models.key import Key

DOCS: Final = Path(__file__).parents[1]

_NOTE: Final = "<!-- Written by docs/tools/generate.py: change what it reads instead. -->\n"
_CONFIG: Final = """\
# All keys

What each file may say, as `jobman validate` checks it. A section may be empty. Below each text
stands which values there are, and the default where there is a plain one. Durations are seconds,
or like `90s`, `10m`, `2h`. In job files `${section.key}` is the value of another key, and
`${oc.env:NAME}` or `${oc.env:NAME,default}` a variable of the environment of whoever creates the
job.

**bold** keys have to be there, wherever their section is.
"""
_FILES: Final = {
    "job": ("Job files", "What `jobman create` takes: which slice, and what to run on it."),
    "tasks": (
        "Tasks files",
        (
            "A [queue](queue-mode.md). What `defaults` may say, each accelerator and each task may"
            " say as well: the task's word counts before the accelerator's, and that before"
            " `defaults`."
        ),
    ),
    "settings": (
        "Settings",
        (
            "`jobman.yaml` in the home is the lab's; `~/.config/jobman/config.yaml` is one's own,"
            " and beats it but for what holds for everybody."
        ),
    ),
}
_COMMANDS: Final = """\
# All commands

What `jobman COMMAND --help` prints. Ids may be shortened to their last digits where these are
unique.

| exit | meaning |
|---|---|
| 0 | done |
| 1 | it failed: the cloud refused, a host could not be reached, … |
| 2 | bad usage, or a bad input file |
| 3 | no such job, task, queue or plugin |
| 4 | not yours, or held by someone else |
| 130 | interrupted by you |

An error is one line on standard error, and says what to do. `--json` prints one document on
standard output, and nothing else there.
"""


def pages() -> Mapping[str, str]:
    """Give the text of each page by its name."""
    return {"config.md": config_page(), "commands.md": commands_page()}


def config_page() -> str:
    """Tell of every key of every file."""
    parts = [_CONFIG]
    with tempfile.TemporaryDirectory() as home:
        for file, (title, text) in _FILES.items():
            parts.append(f"## {title}\n\n{text}\n")
            keys = _said_once(App.at(Path(home)).keys(file))
            groups = [list(group) for _, group in groupby(keys, lambda key: key.path.split(".")[0])]
            alone = [key for group in groups if len(group) == 1 for key in group]
            # One that is alone looks best among the sections.
            if len(alone) > 1:
                parts.append(_table(alone))
                groups = [group for group in groups if len(group) > 1]
            parts += [_section(*group) for group in groups]
    return _NOTE + "\n" + "\n".join(parts)


def _said_once(keys: Iterable[Key]) -> Iterator[Key]:
    """Leave out what accelerators and tasks may say because defaults may."""
    defaults = set()
    for key in keys:
        head, _, rest = key.path.partition(".")
        if head == "defaults":
            defaults.add(rest)
        inner = rest.removeprefix("*.").removeprefix("tasks[].")
        if head != "accelerators" or inner not in defaults:
            yield key


def _section(head: Key, *below: Key) -> str:
    text = f"### {head.path}\n\n{head.text}{_origin(head)}\n"
    return f"{text}\n{_table(below)}" if below else text


def _table(keys: Iterable[Key]) -> str:
    rows = ["| key | |", "|---|---|", *map(_row, keys)]
    return "\n".join(rows) + "\n"


def _row(key: Key) -> str:
    path = f"**`{key.path}`**" if key.required else f"`{key.path}`"
    value = key.type if key.default is None else f"{key.type}; default `{_as_yaml(key.default)}`"
    return "| " + " | ".join((path, f"{key.text}<br>*{value}*".replace("|", "\\|"))) + " |"


def _as_yaml(value: object) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_as_yaml, value)) + "]"
    return value if isinstance(value, str) else json.dumps(value)


def _origin(key: Key) -> str:
    return f" It comes with `{key.plugin}`." if key.plugin else ""


def commands_page() -> str:
    """Show the help of every command, in the order of ``jobman --help``."""
    parts = [_COMMANDS, f"```text\n{_help()}```\n"]
    for title, names in SECTIONS:
        parts.append(f"## {title}\n")
        for name in names:
            command = name.rstrip("_").replace("_", "-")
            parts.append(f"### jobman {command}\n\n```text\n{_help(command)}```\n")
    return _NOTE + "\n" + "\n".join(parts)


def _help(*command: str) -> str:
    out, err = io.StringIO(), io.StringIO()
    front = Front(stdin=io.StringIO(), stdout=out, stderr=err, env={})
    with contextlib.redirect_stdout(out):
        code = execute([*command, "--help"], front)
    assert code == 0, err.getvalue()  # noqa: S101 - it is only help
    return out.getvalue()


def main() -> None:
    """Write the pages."""
    # Help is as wide as the terminal, up to this.
    os.environ["COLUMNS"] = "80"
    for name, text in pages().items():
        (DOCS / name).write_text(text, "utf-8")
        print(f"docs/{name}: {len(text.splitlines())} lines")


if __name__ == "__main__":
    main()
