"""Names and labels that Google Cloud takes."""

import re

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobman_core.models.slice import SliceIdentity
from jobman_gcp.names import is_of, label_value, labels_of, our_labels, wrong_name

IDENTITY = SliceIdentity("train-000001-g1", "us-central2-b", "a-uuid", "ann", "000001", 1)


@pytest.mark.parametrize("name", ["t", "train-000001-g1", "a" * 63])
def test_a_name_that_the_api_takes_is_taken(name: str) -> None:
    assert wrong_name(name) is None


@pytest.mark.parametrize("name", ["", "1st", "-x", "x-", "Train", "a_b", "a.b", "ü"])
def test_a_name_that_the_api_does_not_take_is_refused_with_what_it_may_hold(name: str) -> None:
    assert "small letters" in (wrong_name(name) or "")


def test_f28_a_name_of_64_characters_is_refused_with_its_length() -> None:
    assert "has 64 characters: a TPU's name has at most 63" in (wrong_name("a" * 64) or "")


def test_f29_a_user_with_a_dot_gets_a_label_that_google_takes_and_that_reads_back() -> None:
    identity = attrs.evolve(IDENTITY, owner="ann.lee")
    assert labels_of(identity)["jobman-owner"] == "ann_2elee"
    assert our_labels(labels_of(identity)) == identity.labels


def test_users_whose_names_differ_by_a_dot_stay_two() -> None:
    assert label_value("a.b") != label_value("a-b") != label_value("a_b")


def test_labels_of_others_and_of_other_generations_are_not_ours() -> None:
    labels = {**labels_of(IDENTITY), "team": "vision"}
    assert is_of(IDENTITY, labels)
    assert not is_of(attrs.evolve(IDENTITY, owner="bob"), labels)
    assert not is_of(attrs.evolve(IDENTITY, generation=2), labels)
    assert not is_of(IDENTITY, {})


def test_labels_that_are_not_jobmans_are_left_out() -> None:
    assert our_labels({"team": "vision", "jobman-owner": "ann"}) == {"jobman-owner": "ann"}


@given(st.text(max_size=100))
def test_any_text_becomes_a_label_that_google_takes(text: str) -> None:
    assert re.fullmatch("[a-z0-9_-]{0,63}", label_value(text))


@given(st.text(max_size=10))
def test_a_short_text_reads_back_from_its_label(text: str) -> None:
    label = label_value(text)
    if len(label) < 63:
        assert our_labels({"jobman-owner": label}) == {"jobman-owner": text}


@given(st.text(max_size=100), st.text(max_size=100))
def test_different_texts_have_different_labels(one: str, other: str) -> None:
    assert (label_value(one) == label_value(other)) == (one == other)
