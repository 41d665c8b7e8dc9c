"""Who may do what: default deny, own jobs for people, all for admins."""

import itertools
from pathlib import Path

import pytest

from jobman_slackbot.config import BotConfig, load_config
from jobman_slackbot.people import (
    Deed,
    Person,
    Role,
    person,
    refusal,
    slack_id,
    to_stranger,
    wrong_place,
)

WHO = {"UV": Role.VIEWER, "UA": Role.USER, "UO": Role.OPERATOR, "UB": Role.ADMIN}


@pytest.fixture
def config(tmp_path: Path) -> BotConfig:
    path = tmp_path / "bot.yaml"
    path.write_text(
        "channel: C01\npeople: {UA1: ada, UO1: olga, UB1: boss}\n"
        "viewers: [UV1]\noperators: [UO1]\nadmins: [UB1]\n"
    )
    return load_config(path)


def known(config: BotConfig, who: str) -> Person:
    found = person(config, who)
    assert found is not None
    return found


def test_everybody_has_the_role_that_the_file_gives(config: BotConfig) -> None:
    assert {who: known(config, f"{who}1").role for who in WHO} == WHO
    assert person(config, "UX1") is None


@pytest.mark.parametrize(
    ("who", "deed", "owner", "may"),
    [
        ("UV1", Deed.SEE, "ada", True),
        ("UV1", Deed.STEER, None, False),
        ("UV1", Deed.STEER, "ada", False),
        ("UA1", Deed.SEE, "olga", True),
        ("UA1", Deed.STEER, "ada", True),
        ("UA1", Deed.DELETE, "ada", True),
        ("UA1", Deed.STEER, "olga", False),
        ("UA1", Deed.STEER, None, True),
        ("UO1", Deed.STEER, "ada", True),
        ("UO1", Deed.DELETE, "ada", False),
        ("UO1", Deed.DELETE, "olga", True),
        ("UO1", Deed.REAP, None, False),
        ("UA1", Deed.REAP, None, False),
        ("UB1", Deed.DELETE, "ada", True),
        ("UB1", Deed.REAP, None, True),
    ],
)
def test_roles(config: BotConfig, who: str, deed: Deed, owner: str | None, may: bool) -> None:
    assert known(config, who).may(deed, owner) is may
    assert (refusal(known(config, who), deed, owner) is None) is may


def test_nobody_but_an_admin_may_do_to_others_what_is_not_allowed_here(config: BotConfig) -> None:
    deeds = itertools.product(("UV1", "UA1"), (Deed.STEER, Deed.DELETE, Deed.REAP))
    assert not any(known(config, who).may(deed, "somebody") for who, deed in deeds)


def test_a_refusal_says_what_one_may_do(config: BotConfig) -> None:
    said = refusal(known(config, "UO1"), Deed.DELETE, "ada")
    assert said == (
        "you may not delete what is ada's: you may steer everybody's jobs, and delete your "
        "own; ask an admin of this bot"
    )


def test_a_refusal_reads_like_a_sentence(config: BotConfig) -> None:
    assert refusal(known(config, "UA1"), Deed.STEER, "olga") == (
        "you may not change what is olga's: you may change what is your own; ask an admin of this "
        "bot"
    )
    assert refusal(known(config, "UV1"), Deed.STEER) == (
        "you may not change this: you may see everything here; ask an admin of this bot"
    )
    assert str(refusal(known(config, "UA1"), Deed.REAP)).startswith("you may not reap: you may")


def test_a_stranger_is_told_how_to_be_added_and_nothing_more(config: BotConfig) -> None:
    said = to_stranger(config, "UX1")
    assert said == "I do not know you yet. Ask <@UB1> to add your id to `bot.yaml`: `UX1`"


def test_an_owner_is_found_again(config: BotConfig) -> None:
    assert slack_id(config, "ada") == "UA1"
    assert slack_id(config, "zoe") is None


def test_the_wrong_place_names_the_right_ones(config: BotConfig) -> None:
    assert "<#C01>" in wrong_place(config)
