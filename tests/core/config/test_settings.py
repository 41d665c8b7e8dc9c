"""Settings: two files, one's own beats the lab's, and no parser where nothing changed."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from jobman_core.config.settings import load_settings, own_settings
from jobman_core.errors import ConfigError
from jobman_core.home import Home
from jobman_core.models.settings import Settings

LAB = """\
cloud: gcp
session: tmux
project: lab-project
admins: [ann, bob]
time_zone: Europe/Paris
prices: {v6e: 1.375, v4: 3}
notices: {preempted: channel}
lease: 3m
clouds:
  local: {capacity: {zone-a: 2}, provisioning: 2s}
  gcp: null
"""
OWN = """\
cloud: local
beat: 20
clouds: {local: {capacity: {zone-b: 1}}}
sessions: {tmux: {shell: /bin/bash}}
"""


@pytest.fixture
def lab(home: Path) -> Home:
    return Home(home)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return tmp_path / "own.yaml"


def test_without_files_there_are_defaults(lab: Home, own: Path) -> None:
    settings = load_settings(lab, own)
    assert settings == Settings()
    assert (settings.lease, settings.beat) == (90.0, 15.0)
    assert not lab.state.exists()


def test_own_beats_lab_key_by_key(lab: Home, own: Path) -> None:
    lab.settings.write_text(LAB)
    own.write_text(OWN)
    settings = load_settings(lab, own)
    assert settings == Settings(
        cloud="local",
        session="tmux",
        project="lab-project",
        admins=("ann", "bob"),
        time_zone="Europe/Paris",
        prices={"v6e": 1.375, "v4": 3},
        notices={"preempted": "channel"},
        lease=180.0,
        beat=20.0,
        backends={
            "clouds": {"local": {"capacity": {"zone-a": 2, "zone-b": 1}, "provisioning": "2s"}},
            "sessions": {"tmux": {"shell": "/bin/bash"}},
        },
    )
    assert settings.backend("cloud", "local")["provisioning"] == "2s"
    assert settings.backend("storage", "gcsfuse") == {}


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "\n\n"])
def test_a_file_of_comments_says_nothing(lab: Home, own: Path, text: str) -> None:
    lab.settings.write_text(text)
    assert load_settings(lab, own) == Settings()


def test_what_was_read_is_kept_for_the_owner_alone(lab: Home, own: Path) -> None:
    lab.state.mkdir(parents=True)
    lab.settings.write_text(LAB)
    first = load_settings(lab, own)
    kept = lab.state / "settings.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert load_settings(lab, own) == first
    assert os.listdir(lab.state) == ["settings.json"]  # noqa: PTH208 - hidden ones too


def test_reading_again_imports_no_parser(lab: Home, own: Path) -> None:
    lab.state.mkdir(parents=True)
    lab.settings.write_text(LAB)
    program = (
        "import sys; from pathlib import Path; from jobman_core.home import Home\n"
        "from jobman_core.config.settings import load_settings\n"
        f"s = load_settings(Home(Path({str(lab.root)!r})), Path({str(own)!r}))\n"
        "print(s.cloud, 'ruamel' in str(sorted(sys.modules)), 'cattrs' in sys.modules)\n"
    )

    def run() -> str:
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
        return done.stdout.decode().strip()

    assert run() == "gcp True True"
    assert run() == "gcp False False"


@pytest.mark.parametrize("change", ["lab", "own"])
def test_a_change_is_seen(lab: Home, own: Path, change: str) -> None:
    lab.state.mkdir(parents=True)
    lab.settings.write_text("project: a\n")
    assert load_settings(lab, own).project == "a"
    (lab.settings if change == "lab" else own).write_text("project: b\n")
    assert load_settings(lab, own).project == "b"


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"[]", b"\xff", b'{"digest": 1}', b"[" * 100_000, None],
)
def test_a_damaged_cache_is_passed_over(lab: Home, own: Path, damage: bytes | None) -> None:
    lab.state.mkdir(parents=True)
    lab.settings.write_text(LAB)
    expected = load_settings(lab, own)
    kept = lab.state / "settings.json"
    if damage is None:
        # The right content for the right file, with a key of another version in it.
        known = json.loads(kept.read_text())
        known["settings"]["colour"] = "red"
        damage = json.dumps(known).encode()
    kept.write_bytes(damage)
    assert load_settings(lab, own) == expected
    assert kept.read_bytes() != damage


def test_a_cache_that_cannot_be_written_is_no_fault(lab: Home, own: Path) -> None:
    lab.state.mkdir(parents=True)
    # Nobody, root neither, can put a file in the place of a folder.
    (lab.state / "settings.json" / "x").mkdir(parents=True)
    lab.settings.write_text(LAB)
    assert load_settings(lab, own).cloud == "gcp"
    assert os.listdir(lab.state) == ["settings.json"]  # noqa: PTH208 - hidden ones too


def test_looking_at_a_folder_makes_no_home_of_it(lab: Home, own: Path) -> None:
    lab.settings.write_text(LAB)
    load_settings(lab, own)
    assert not lab.state.exists()


def test_the_faults_of_both_files_are_told(lab: Home, own: Path) -> None:
    lab.settings.write_text("clould: x\nadmins: ann\nlease: soon\n")
    own.write_text("time_zone: Mars/Base\nclouds: {local: 3}\nprices: [1]\n")
    with pytest.raises(ConfigError) as caught:
        load_settings(lab, own)
    names = {str(lab.settings): "lab", str(own): "own"}
    assert [
        f"{names[f.path]}:{f.line}:{f.column}: {f.key}: {f.message}" for f in caught.value.faults
    ] == [
        "lab:1:1: clould: unknown key 'clould' (did you mean 'cloud'?)",
        "lab:2:9: admins: it must be a list (entries begin with `- `), not 'ann'",
        "lab:3:8: lease: 'soon' is no duration: write seconds, or something like 90s, 10m, 2h, 1d",
        "own:1:12: time_zone: no time zone is called 'Mars/Base': write one like Europe/Paris",
        "own:2:17: clouds.local: it must be a map, not '3'",
        "own:3:9: prices: it must be a map, not a list",
    ]


def test_a_time_zone_that_there_is_not(lab: Home, own: Path) -> None:
    own.write_text("time_zone: ../etc/passwd\n")
    with pytest.raises(ConfigError, match=r":1:12: time_zone: no time zone is called"):
        load_settings(lab, own)


@pytest.mark.parametrize(
    ("lab_text", "own_text", "expected"),
    [
        ("lease: 20\nbeat: 5\n", "beat: 15\n", "1:7: beat: a lease (20s) must outlast two beats"),
        ("beat: 60\n", "", "1:7: beat: a lease (90s) must outlast two beats (60s)"),
        ("beat: 0\n", "", "1:7: beat: a beat must be more than 0"),
    ],
)
def test_a_lease_must_outlast_its_beats(
    lab: Home, own: Path, lab_text: str, own_text: str, expected: str
) -> None:
    lab.settings.write_text(lab_text)
    own.write_text(own_text)
    with pytest.raises(ConfigError) as caught:
        load_settings(lab, own)
    assert expected in str(caught.value)


def test_a_beat_that_only_the_labs_lease_allows(lab: Home, own: Path) -> None:
    lab.settings.write_text("lease: 5m\n")
    own.write_text("beat: 60\n")
    assert load_settings(lab, own).beat == 60


def test_a_settings_file_that_cannot_be_read_is_a_fault(lab: Home, own: Path) -> None:
    own.mkdir()
    with pytest.raises(ConfigError, match="it is a folder"):
        load_settings(lab, own)


def test_where_ones_own_settings_lie(tmp_path: Path) -> None:
    found = own_settings({"XDG_CONFIG_HOME": str(tmp_path)})
    assert found == tmp_path / "jobman" / "config.yaml"
    home = Path("~").expanduser()
    for environ in ({}, {"XDG_CONFIG_HOME": "not/absolute"}):
        assert own_settings(environ) == home / ".config" / "jobman" / "config.yaml"
