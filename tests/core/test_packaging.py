"""What every package of the workspace ships."""

import tomllib
from importlib import metadata, resources
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MEMBERS = sorted(ROOT.glob("p*/*/pyproject.toml"))


def project(member: Path) -> dict[str, object]:
    table = tomllib.loads(member.read_text())["project"]
    assert isinstance(table, dict)
    return table


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.parent.name)
class TestMember:
    def test_has_the_one_version(self, member: Path) -> None:
        assert (
            metadata.version(str(project(member)["name"])) == (ROOT / "VERSION").read_text().strip()
        )

    def test_ships_its_types(self, member: Path) -> None:
        (package,) = (path.name for path in (member.parent / "src").glob("jobman_*"))
        assert (resources.files(package) / "py.typed").is_file()

    def test_is_under_the_licence_of_the_workspace(self, member: Path) -> None:
        assert project(member)["license"] == "Apache-2.0"
        assert (member.parent / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()

    def test_is_part_of_the_workspace(self, member: Path) -> None:
        root = tomllib.loads((ROOT / "pyproject.toml").read_text())
        name = project(member)["name"]
        assert name in root["project"]["dependencies"]
        assert root["tool"]["uv"]["sources"][name] == {"workspace": True}


def test_members_are_found() -> None:
    assert MEMBERS
