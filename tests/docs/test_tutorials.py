"""Pages that are played from their first line to their last."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.lab import Lab
from tests.support.tutorial import PLAYED, Reader, Typed, Written, steps

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """Give a folder in which nothing was done so far, and nothing may be left."""
    lab = Lab(tmp_path / "lab")
    (lab.root / "jobman.yaml").unlink()
    for name in ("JOBMAN_HOME", "TPU_EMULATOR_HOST"):
        lab.env.pop(name, None)
    # Sockets have short names.
    runtime = tempfile.mkdtemp(prefix="jm-")
    lab.env["XDG_RUNTIME_DIR"] = runtime
    lab.marks.append(runtime)
    try:
        yield lab
        lab.close()
    finally:
        lab.run("emulator", "down", code=None)
        shutil.rmtree(runtime)


@pytest.mark.e2e
@pytest.mark.timeout(480)
@pytest.mark.parametrize("page", PLAYED)
def test_a_page_does_what_it_shows(lab: Lab, page: str) -> None:
    Reader(lab.root, lab.env).follow(DOCS / page)


def test_a_page_is_read_as_its_reader_reads_it(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```yaml\n# a.yaml\na: 1\n```\n```yaml\nb: 2\n```\n```sh\ngcloud\n```\n"
        "```console\n$ jobman list    # all\nID  NAME\n$ jobman logs -f 000001\nstep 3\n^C\n```\n"
    )
    assert list(steps(page)) == [
        Written("a.yaml", "# a.yaml\na: 1\n"),
        Typed("jobman list", ("ID  NAME",)),
        Typed("jobman logs -f 000001", ("step 3", "^C")),
    ]


@pytest.mark.parametrize(
    ("shown", "seen", "fits"),
    [
        ("000001  RUNNING  …", "000007  ada   \x1b[32mRUNNING\x1b[0m  step 2", True),
        ("000001  RUNNING", "000007  ada  QUEUEING", False),
        ("first\n…\nlast", "first\r\nand\r\nlast\r\n", True),
        ("last\nfirst", "first\nlast\n", False),
        ("Really? [y/N] y\ngone", "Really? [y/N] y\ngone", True),
    ],
)
def test_what_a_page_shows_holds_in_shape(shown: str, seen: str, fits: bool) -> None:
    assert Typed("jobman list", tuple(shown.split("\n"))).fits(seen) is fits
