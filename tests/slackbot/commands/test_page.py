"""The page for people names every command as the bot does."""

from pathlib import Path

from jobman_slackbot import grammar
from jobman_slackbot.commands.table import TABLE, Row
from jobman_slackbot.people import Deed

_PAGE = Path(__file__).parents[3] / "docs" / "slack.md"
_WHO = {
    Deed.SEE: "all",
    Deed.STEER: "people, of what is their own",
    Deed.DELETE: "people, of what is their own",
    Deed.REAP: "admins",
}


def _line(row: Row) -> str:
    usage = grammar.usage(row).replace("|", "\\|")
    # Tasks are nobody's own.
    who = "people" if row.word in ("prioritize", "reset", "done") else _WHO[row.deed]
    return f"| `{usage}` | {who} | {row.help} |"


def test_every_command_stands_in_the_page_and_no_other() -> None:
    lines = _PAGE.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("| `/jobman ")] == [
        _line(row) for row in TABLE.values()
    ]
