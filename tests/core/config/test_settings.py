"""Settings: two files, one's own beats the lab's, and no parser where nothing changed."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

from jobman_core.builtin import builtins
from jobman_core.config.settings import load_settings, own_settings
from jobman_core.errors import ConfigError
from jobman_core.home import Home
from jobman_core.models.notice import Audience, NoticeKind, NotifyRule
from jobman_core.models.reap import ReapRules
from jobman_core.models.settings import Settings
from jobman_core.plugins import Plugins

LAB = """\
cloud: gcp
session: tmux
project: lab-project
admins: [ann, bob]
time_zone: Europe/Paris
prices: {v6e: 1.375, v4: 3}
notices: {to: owner, of: [failed]}
stuck_after: 90m
lease: 3m
beat: 20
clouds:
  local: {capacity: {zone-a: 2}, provisioning: 2s}
  gcp: null
"""
OWN = """\
cloud: local
notify: nobody
clouds: {local: {capacity: {zone-b: 1}}}
sessions: {tmux: {shell: /bin/bash}}
"""


#: Other plugins that may be installed where the tests run.
OTHERS = "tmux,screen,gcp,venv,conda,docker,gcsfuse"


def installed() -> Plugins:
    """Give what comes with the core."""
    return Plugins(builtins, disabled=OTHERS)


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
        notify=NotifyRule(Audience.OWNER, (NoticeKind.FAILED,)),
        own_notify=NotifyRule(Audience.NOBODY),
        stuck_after=5400.0,
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


def test_an_unknown_key_that_is_like_none_is_told_with_all_that_there_are(
    lab: Home, own: Path
) -> None:
    own.write_text("qqq: 1\n")
    with pytest.raises(ConfigError) as caught:
        load_settings(lab, own)
    (fault,) = caught.value.faults
    keys = [
        field.name
        for field in attrs.fields(Settings)
        if field.name not in ("backends", "own_notify")
    ]
    kinds = ["clouds", "sessions", "environments", "storages", "stores", "notifiers"]
    assert fault.message.startswith("unknown key 'qqq': use one of cloud, session, project, ")
    assert all(key in fault.message for key in [*keys, *kinds])


def test_who_is_told_is_one_of_three_words_and_of_what_is_a_list_of_kinds(
    lab: Home, own: Path
) -> None:
    lab.settings.write_text("notify: {to: chanel, of: [failed, finishd], when: now}\n")
    own.write_text("notify: slack\n")
    with pytest.raises(ConfigError) as caught:
        load_settings(lab, own)
    assert [str(fault).split("yaml:", 1)[1] for fault in caught.value.faults] == [
        "1:14: notify.to: 'chanel' is not possible (did you mean 'channel'?)",
        "1:35: notify.of[1]: 'finishd' is not possible (did you mean 'finished'?)",
        "1:45: notify.when: unknown key 'when': use one of to, of",
        "1:9: notify: 'slack' is not possible: use one of channel, owner, nobody",
    ]


def test_a_misspelt_word_is_guessed_as_it_is_written(lab: Home, own: Path) -> None:
    lab.settings.write_text("notify: owners\n")
    with pytest.raises(ConfigError) as error:
        load_settings(lab, own)
    (fault,) = error.value.faults
    assert fault.message == "'owners' is not possible (did you mean 'owner'?)"


def test_a_price_is_a_number(lab: Home, own: Path) -> None:
    own.write_text("prices: {v4: 3, v6e: cheap}\n")
    with pytest.raises(ConfigError, match=r":1:22: prices\.v6e: it must be a number, not 'cheap'"):
        load_settings(lab, own)


def test_a_price_may_differ_by_pricing_and_by_place_and_says_its_day(lab: Home, own: Path) -> None:
    lab.settings.write_text(
        "prices:\n"
        "  v4: {ondemand: 3.22, spot: 1, zones: {us-central2-b: {spot: 0.9}, europe-west4: 2}}\n"
        "  v6e: 1.375\n"
        "prices_of: 2026-12-01\n"
        "currency: EUR\n"
    )
    settings = load_settings(lab, own)
    assert settings.prices == {
        "v4": {
            "ondemand": 3.22,
            "spot": 1,
            "zones": {"us-central2-b": {"spot": 0.9}, "europe-west4": 2},
        },
        "v6e": 1.375,
    }
    assert (settings.prices_of, settings.currency) == ("2026-12-01", "EUR")
    own.write_text("prices: {v4: {spot: 0.5}, v6e: {spot: 0.4}}\n")
    settings = load_settings(lab, own)
    assert settings.prices["v4"]["ondemand"] == 3.22
    assert settings.prices["v4"]["spot"] == 0.5
    assert settings.prices["v6e"] == {"spot": 0.4}


def test_the_prices_that_the_page_shows_are_ones_that_are_understood(lab: Home, own: Path) -> None:
    page = (Path(__file__).parents[3] / "docs/usage.md").read_text("utf-8")
    (example,) = re.findall(r"(?ms)^```yaml\n(.*?)^```$", page)
    lab.settings.write_text(example)
    settings = load_settings(lab, own)
    assert settings.prices["v5p"]["zones"] == {"us-east5": 1.3, "europe-west4-b": {"spot": 1.1}}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("prices: {v4: -3}", ":1:14: prices.v4: a price is 0 or more, not '-3'"),
        ("prices: {v4: {sopt: 3}}", ":1:15: prices.v4.sopt: unknown key 'sopt'"),
        (
            "prices: {v4: {zones: {here: {spot: cheap}}}}",
            ":1:36: prices.v4.zones.here.spot: it must be a number, not 'cheap'",
        ),
        (
            "prices: {v4: {zones: {here: {zones: 1}}}}",
            ":1:30: prices.v4.zones.here.zones: unknown key 'zones'",
        ),
        (
            "prices_of: yesterday",
            ":1:12: prices_of: 'yesterday' is no day: write one like 2026-12-01",
        ),
        ("currency: $", ":1:11: currency: '$' is no currency: write its code, like EUR"),
    ],
)
def test_what_is_no_price_is_told_at_its_place(lab: Home, own: Path, text: str, fault: str) -> None:
    own.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_settings(lab, own)
    (found,) = caught.value.faults
    assert fault in str(found)


def test_the_section_of_a_backend_has_the_shape_that_the_backend_says(lab: Home, own: Path) -> None:
    lab.settings.write_text(
        "clouds: {local: {capacity: {here: 2}, provisioning: 1.5m, zones: [here]}}\n"
    )
    own.write_text("clouds: {local: {capacity: {there: 1}, zones: null}, pods: {any: 1m}}\n")
    assert load_settings(lab, own, installed).backends == {
        "clouds": {
            "local": {"capacity": {"here": 2, "there": 1}, "provisioning": 90.0, "zones": ["here"]},
            # Nobody can say yet what this may be.
            "pods": {"any": "1m"},
        }
    }


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("{capcity: {}}", "1:18: clouds.local.capcity: unknown key 'capcity' (did you mean"),
        ("{capacity: 3}", "1:28: clouds.local.capacity: it must be a map, not '3'"),
        ("{capacity: {a: -1}}", "1:32: clouds.local.capacity.a: it must be 0 or more, not -1"),
        ("{provisioning: soon}", "1:32: clouds.local.provisioning: 'soon' is no duration"),
        ("{provisioning: -1}", "1:32: clouds.local.provisioning: '-1' is no duration"),
        ("{zones: here}", "1:25: clouds.local.zones: it must be a list"),
    ],
)
def test_faults_in_the_section_of_a_backend_have_their_places(
    lab: Home, own: Path, section: str, said: str
) -> None:
    own.write_text(f"clouds: {{local: {section}}}\n")
    with pytest.raises(ConfigError) as caught:
        load_settings(lab, own, installed)
    (fault,) = caught.value.faults
    assert str(fault).startswith(f"{own}:{said}")


def test_a_backend_without_settings_may_have_no_key(lab: Home, own: Path) -> None:
    own.write_text("sessions: {process: {shell: /bin/sh}}\n")
    with pytest.raises(ConfigError, match=r"sessions\.process\.shell: unknown key 'shell': take"):
        load_settings(lab, own, installed)


def test_plugins_are_asked_for_only_when_something_changed(
    lab: Home, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "site-packages"
    packages.mkdir()
    monkeypatch.syspath_prepend(str(packages))
    lab.state.mkdir(parents=True)
    own.write_text("clouds: {local: {provisioning: 2s}}\n")
    asked = []

    def load() -> None:
        def plugins() -> Plugins:
            asked.append(1)
            return installed()

        assert load_settings(lab, own, plugins).backend("cloud", "local") == {"provisioning": 2.0}

    load()
    load()
    assert len(asked) == 1
    (packages / "jobman_pods").mkdir()
    os.utime(packages, (1, 1))
    load()
    assert len(asked) == 2
    monkeypatch.setenv("JOBMAN_DISABLED_PLUGINS", "pods")
    load()
    assert len(asked) == 3


def test_a_time_zone_that_there_is_not(lab: Home, own: Path) -> None:
    own.write_text("time_zone: ../etc/passwd\n")
    with pytest.raises(ConfigError, match=r":1:12: time_zone: no time zone is called"):
        load_settings(lab, own)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lease: 20\nbeat: 15\n", "1:8: lease: a lease (20s) must outlast two beats (15s)"),
        ("beat: 60\n", "1:7: beat: a lease (90s) must outlast two beats (60s)"),
        ("beat: 0\n", "1:7: beat: a beat must be more than 0"),
    ],
)
def test_a_lease_must_outlast_its_beats(lab: Home, own: Path, text: str, expected: str) -> None:
    lab.settings.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_settings(lab, own)
    assert expected in str(caught.value)


def test_a_beat_that_only_a_longer_lease_allows(lab: Home, own: Path) -> None:
    lab.settings.write_text("lease: 5m\nbeat: 60\n")
    assert load_settings(lab, own).beat == 60


@pytest.mark.parametrize("lab_text", ["", "admins: [ann]\nlease: 80s\nbeat: 20s\n"])
def test_nobody_says_for_oneself_what_holds_for_everybody(
    lab: Home, own: Path, lab_text: str
) -> None:
    lab.settings.write_text(lab_text)
    own.write_text("cloud: local\nadmins:\n  - eve\nlease: 4s\nbeat: 1s\n")
    with pytest.raises(ConfigError) as caught:
        load_settings(lab, own)
    why = f"this holds for everybody: write it into {lab.settings}"
    assert [str(fault) for fault in caught.value.faults] == [
        f"{own}:2:1: admins: {why}",
        f"{own}:4:1: lease: {why}",
        f"{own}:5:1: beat: {why}",
    ]


def test_what_holds_for_everybody_may_be_left_empty_in_ones_own_file(lab: Home, own: Path) -> None:
    lab.settings.write_text("admins: [ann]\n")
    own.write_text("admins: null\nlease:\n")
    assert load_settings(lab, own).admins == ("ann",)


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


REAP = """\
reap:
  places: [us-east1-d, {zone: asia-east1-c, project: vision}, {zone: here, cloud: local}]
  grace: 1h
  keep: ["demo-*"]
  lost_homes: [0f2c]
"""


def test_what_may_be_reaped_is_read_once_and_kept(lab: Home, own: Path) -> None:
    lab.settings.write_text(REAP)
    expected = ReapRules(
        places=(
            ("gcp", "", "us-east1-d"),
            ("gcp", "vision", "asia-east1-c"),
            ("local", "", "here"),
        ),
        grace=3600.0,
        keep=("demo-*",),
        lost_homes=("0f2c",),
    )
    for _ in range(2):
        assert load_settings(lab, own).reap == expected
    lab.settings.write_text("reap:\n")
    assert load_settings(lab, own).reap == ReapRules()


@pytest.mark.parametrize(
    ("written", "key", "told"),
    [
        ("reap: {places: us-east1-d}", "reap.places", "a list of zones"),
        ("reap: {places: [{zone: a, zones: b}]}", "reap.places[0].zones", "unknown"),
        ("reap: {places: [{project: a}]}", "reap.places[0].zone", "missing"),
        ("reap: {places: [us-east1-d, ../d]}", "reap.places[1]", "no zone"),
        ("reap: {places: [{zone: a/b}]}", "reap.places[0].zone", "no zone"),
        ("reap: {grace: soon}", "reap.grace", ""),
        ("reap: {grace: 99999999d}", "reap.grace", "longer than 100 years"),
        ("reap: {keep: demo}", "reap.keep", "a list"),
    ],
)
def test_a_fault_in_what_may_be_reaped_stands_at_its_place(
    lab: Home, own: Path, written: str, key: str, told: str
) -> None:
    lab.settings.write_text(written)
    with pytest.raises(ConfigError) as error:
        load_settings(lab, own)
    (fault,) = error.value.faults
    assert (fault.key, fault.line) == (key, 1)
    assert told in fault.message


def test_what_may_be_reaped_is_for_the_lab_to_say(lab: Home, own: Path) -> None:
    own.write_text("reap: {all: true}")
    with pytest.raises(ConfigError, match="this holds for everybody"):
        load_settings(lab, own)
