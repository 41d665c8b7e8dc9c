"""The examples in ``docs/`` and the README are ones that work."""

import configparser
import itertools
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Cli, FakeApp
from tests.support.tutorial import PLAYED

from jobman_cli.commands import SECTIONS

ROOT = Path(__file__).parents[2]
DOCS = sorted((ROOT / "docs").glob("*.md"))
REBOOT = ROOT / "docs/after-a-reboot.md"
README = ROOT / "README.md"
COMMANDS = {name for _, names in SECTIONS for name in names}


def blocks(path: Path, language: str) -> list[str]:
    """Give the fenced blocks of a language, without their indentation."""
    pattern = rf"^( *)```{language}\n(.*?)^ *```$"
    found = re.findall(pattern, path.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", text, flags=re.MULTILINE) for indent, text in found]


def typed(text: str) -> list[str]:
    """Give what is typed in a block of a terminal: not what is shown there."""
    lines = text.splitlines()
    if not any(line.startswith("$ ") for line in lines):
        return lines
    # One that ends with a backslash goes on.
    return re.findall(r"(?m)^\$ ((?:.*\\\n)*.*)", text)


def command_lines() -> Iterator[tuple[str, list[str]]]:
    """Give every call of jobman in a page, by whatever it is started.

    Pages that are played have shown it already.
    """
    for path in (path for path in (README, *DOCS) if path.name not in PLAYED):
        lines = [line for text in blocks(path, "(?:console|crontab)") for line in typed(text)]
        for text in blocks(path, "ini"):
            lines += [line.partition("=")[2] for line in text.splitlines() if "Exec" in line]
        for line in lines:
            words = shlex.split(line, comments=True)
            if "jobman" in words:
                argv = words[words.index("jobman") + 1 :]
                # What comes next is the shell's.
                yield path.name, [*itertools.takewhile(lambda word: word not in "|>&&", argv)]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files that a command writes lie in nobody's way."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("page", "argv"), [*command_lines()], ids=str)
def test_every_command_in_an_example_is_one_that_there_is(
    cli: Cli, app: FakeApp, elsewhere: None, page: str, argv: list[str]
) -> None:
    for number in (1, 2, 3):
        app.add_job(f"{number:06d}")
    # An emulator would have to run: what can be known without one is that it has the verb.
    argv = [*argv[:2], "--help"] if argv[0] == "emulator" else argv
    said = cli(*argv, tty=True, answer="y\n")
    assert said.code == 0, said


def test_every_link_leads_somewhere_and_the_readme_leads_to_every_page() -> None:
    led_to = set()
    for page in (README, ROOT / "CONTRIBUTING.md", ROOT / "benchmarks/README.md", *DOCS):
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
            if "://" in link:
                continue
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            assert target.exists(), f"{page.name}: {link}"
            if anchor:
                heads = re.findall(r"(?m)^#+ (.+)$", target.read_text("utf-8"))
                anchors = [re.sub(r"[^\w -]", "", head).lower().replace(" ", "-") for head in heads]
                assert anchor in anchors, f"{page.name}: {link}"
            if page == README:
                led_to.add(target)
    # The site's first page stands for the README there.
    assert set(DOCS) - {ROOT / "docs/index.md"} <= led_to


def test_the_readme_lists_each_page_once() -> None:
    listed = re.findall(r"(?m)^- \[[^]]+\]\(docs/([^)]+)\):", README.read_text("utf-8"))
    assert len(set(listed)) == len(listed)


def test_the_site_leads_to_every_page_in_one_line() -> None:
    lines = (ROOT / "mkdocs.yml").read_text("utf-8").splitlines()
    led_to = [line.rpartition(": ")[2] for line in lines if line.endswith(".md")]
    assert len(set(led_to)) == len(led_to)
    assert {path.name for path in DOCS} <= set(led_to)


def test_the_site_can_be_searched_where_there_is_no_network() -> None:
    lines = (ROOT / "mkdocs.yml").read_text("utf-8").splitlines()
    assert "  - offline" in lines
    (scripts,) = [line for line in lines if "polyfills:" in line]
    # What its name holds is not fetched from elsewhere.
    assert scripts.split() == ["polyfills:", "[tools/iframe-worker.js]"]
    assert (ROOT / "docs/tools/iframe-worker.js").exists()


def test_nothing_is_said_twice_and_nothing_that_is_there_is_said_to_come_later() -> None:
    readme = README.read_text("utf-8")
    listed = re.findall(r"(?m)^- \[.*?\]\((docs/[^)#]+)\)", readme.partition("## More")[2])
    assert len(set(listed)) == len(listed)
    said = [line.partition(":")[0] for line in readme.splitlines() if line.startswith("- ")]
    told = [line.partition(":")[0] for line in (ROOT / "CHANGELOG.md").read_text().splitlines()]
    for lines in (said, [line for line in told if line.startswith("- ")]):
        assert len(set(lines)) == len(lines)
    for later in (line for line in readme.splitlines() if re.search(r"comes? later", line)):
        assert not set(re.findall(r"`([a-z0-9-]+)`", later)) & COMMANDS


@pytest.mark.parametrize("path", [README, *DOCS], ids=lambda path: path.name)
def test_every_shell_block_is_one_that_bash_can_read(path: Path) -> None:
    for text in (*blocks(path, "console"), *blocks(path, "sh")):
        lines = typed(text)
        done = subprocess.run(
            ["bash", "-n"], input="\n".join(lines), capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), text


def test_a_crontab_has_lines_that_cron_understands() -> None:
    when = re.compile(r"(@reboot|(\S+ ){4}\S+) +\S")
    for page in DOCS:
        for text in blocks(page, "crontab"):
            lines = text.splitlines()
            assert all(re.match(r"[A-Z_]+=\S+$", line) or when.match(line) for line in lines)
            # What cron does with a % is not what anybody means.
            assert "%" not in text
    (text,) = blocks(REBOOT, "crontab")
    lines = text.splitlines()
    assert any(line.startswith("@reboot") for line in lines)
    assert any(line.startswith("*/5 ") for line in lines)


def test_the_units_are_ones_that_systemd_understands(tmp_path: Path) -> None:
    service, timer, logind = (_parsed(text) for text in blocks(REBOOT, "ini"))
    assert service["Service"]["Type"] == "oneshot"
    assert "--scope" in service["Service"]["ExecStart"]
    assert {"OnStartupSec", "OnUnitActiveSec"} <= set(timer["Timer"])
    assert "KillExcludeUsers" in logind["Login"]
    names = ("jobman-resume.service", "jobman-resume.timer")
    for name, text in zip(names, blocks(REBOOT, "ini"), strict=False):
        assert f"`~/.config/systemd/user/{name}`" in REBOOT.read_text("utf-8")
        (tmp_path / name).write_text(text, "utf-8")
    # A machine without systemd has read them as it reads all such files, which is less.
    if shutil.which("systemd-analyze"):
        units = [str(tmp_path / name) for name in names]
        command = ["systemd-analyze", "verify", "--user", *units]
        env = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def _parsed(text: str) -> configparser.ConfigParser:
    # systemd lets a key come again, and gives % another meaning.
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return parser
