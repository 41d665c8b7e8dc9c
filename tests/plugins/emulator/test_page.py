"""The page on the emulator says what there is."""

import inspect
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from jobman_emulator import commands
from jobman_emulator.faults import KINDS
from jobman_emulator.settings import Settings
from jobman_emulator.testing import Running

PAGE = (Path(__file__).parents[3] / "docs/emulator.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", PAGE)


def calls() -> list[str]:
    """Give the calls of the page: of its blocks, and of its table."""
    lines = "\n".join(blocks("sh")).splitlines()
    named = re.findall(r"`((?:[a-z]+-?)+ [^`]+)`", "\n".join(re.findall(r"(?m)^\|.*\|$", PAGE)))
    words = [
        line.partition("#")[0].partition("jobman emulator ")[2].rstrip(' )"') for line in lines
    ]
    return [word for word in (*words, *named) if word]


@pytest.mark.parametrize("call", calls())
def test_every_call_is_one_that_there_is(call: str) -> None:
    app = typer.Typer(rich_markup_mode=None)
    commands.fill(app)
    stand_ins = {"LIMIT": "8", "INDEX": "2", "KIND": next(iter(KINDS))}
    verb, *args = (stand_ins.get(word, word) for word in shlex.split(call))
    command = typer.main.get_group(app).commands[verb]
    # Raises where an argument is wrong.
    command.make_context(verb, args)


def test_the_list_of_verbs_says_of_each_all_that_it_says_in_80_columns() -> None:
    app = typer.Typer(rich_markup_mode=None)
    commands.fill(app)
    verbs = typer.main.get_group(app).commands
    room = 80 - 6 - max(map(len, verbs))
    cut = {name for name, verb in verbs.items() if verb.get_short_help_str(room).endswith("...")}
    assert not cut


def test_the_help_on_faults_says_what_each_is() -> None:
    # Cleaned: from Python 3.13 on a docstring has lost its indentation already.
    said = inspect.getdoc(commands.fault) or ""
    assert set(re.findall(r"(?m)^([a-z-]+)  +\w", said)) == set(KINDS)


def test_the_test_of_the_page_passes(emulator: Running) -> None:
    (text,) = (text for text in blocks("python") if "def test_" in text)
    page: dict[str, Any] = {}
    exec(text, page)  # noqa: S102 - the page is ours
    page["test_a_preempted_node_is_still_listed"](emulator)


def test_the_file_of_the_page_can_be_read(tmp_path: Path) -> None:
    (text,) = blocks("yaml")
    file = tmp_path / "emulator.yaml"
    file.write_text(text)
    settings = Settings.read(file)
    assert settings.provisioning == 5
    assert settings.quota["us-east1"] == {"v6e": 64, "queued-resources": 10}
