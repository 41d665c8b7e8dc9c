"""The files that ``docs/notices.md`` shows are good ones."""

import re
from pathlib import Path

import pytest

from jobman_core.builtin import builtins
from jobman_core.config.job import parse_job
from jobman_core.config.settings_file import read_settings
from jobman_core.config.surroundings import Surroundings
from jobman_core.home import Home
from jobman_core.models.notice import Audience, NoticeKind
from jobman_core.notices import KINDS
from jobman_core.plugins import Plugins

PAGE = Path(__file__).parents[2] / "docs/notices.md"
BLOCKS = re.findall(r"(?ms)^```yaml\n(.*?)^```$", PAGE.read_text("utf-8"))


@pytest.mark.parametrize("text", BLOCKS, ids=range(len(BLOCKS)))
def test_the_files_shown_are_good_ones(text: str, tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    if text.startswith("job:"):
        around = Surroundings(Home(tmp_path), Plugins.from_environment(builtins))
        rule = parse_job(text, path, around).draft("ada").notify
    else:
        rule = read_settings([(path, text.encode())], path).notify
    assert rule is not None


def test_every_kind_and_every_audience_is_explained_and_comes_about() -> None:
    page = PAGE.read_text("utf-8")
    assert all(f"`{word}`" in page for word in (*NoticeKind, *Audience))
    assert set(KINDS.values()) == set(NoticeKind)
