"""Start-up is paid by everybody: what only looks loads nothing that it does not need."""

import subprocess
import sys

import pytest
from tests.support.lab import Lab

pytestmark = pytest.mark.e2e

HEAVY = {
    *("grpc", "google", "slack_sdk", "slack_bolt", "ruamel", "cattrs", "pydantic", "rich"),
    *("psycopg", "psycopg2", "asyncpg", "sqlalchemy", "requests", "httpx", "aiohttp", "yaml"),
    *("matplotlib", "numpy", "textual"),
}


def loaded_by(lab: Lab, *args: str) -> set[str]:
    """Give the top-level modules that a command has loaded when it ends."""
    program = (
        "import sys\n"
        "from jobman_cli.main import main\n"
        f"sys.argv = {['jobman', *args]!r}\n"
        "code = main()\n"
        "print('loaded', *sys.modules, file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=lab.env,
        cwd=lab.root,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = next(line for line in done.stderr.splitlines() if line.startswith("loaded "))
    return {name.partition(".")[0] for name in told.split()[1:]}


@pytest.mark.parametrize(
    "args",
    [
        ("--help",),
        ("--version",),
        ("create", "--help"),
        ("list",),
        ("list", "--json"),
        ("list", "--all", "--mine"),
        ("show", "1"),
        ("show", "1", "--json"),
        ("queue", "tasks.yaml"),
        ("queue", "tasks.yaml", "--json"),
        ("usage",),
        ("usage", "--by", "day", "--json"),
    ],
    ids=" ".join,
)
def test_a_command_that_only_looks_loads_nothing_heavy(lab: Lab, args: tuple[str, ...]) -> None:
    lab.write("tasks.yaml", "accelerators: {v4-8: {tasks: [{id: a, run: echo a}]}}\n")
    lab.run("create", lab.job("worker", queue="tasks.yaml"), "--no-start")
    # The first look after a change of the settings may read them; none after it.
    lab.run("list")
    lab.run("queue", "tasks.yaml")
    assert loaded_by(lab, *args) & HEAVY == set()
