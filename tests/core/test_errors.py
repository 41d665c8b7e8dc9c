"""What errors say of themselves."""

import pytest

from jobman_core.errors import Fault


@pytest.mark.parametrize("char", ["\n", "\r", "\x0b", "\x1c", "\x85", "\u2028", "\u2029"])
def test_a_fault_is_one_line_whatever_stands_in_the_file(char: str) -> None:
    fault = Fault("job.yaml", 3, 1, f"tpu.a{char}b", f"unknown key 'a{char}b': take it out")
    assert len(str(fault).splitlines()) == 1
    assert str(fault).startswith("job.yaml:3:1: tpu.a")


def test_a_fault_about_an_endless_word_still_says_what_to_do() -> None:
    text = str(Fault("job.yaml", 3, 1, "tpu.cloud", f"no cloud is called {'9' * 9999}: use local"))
    assert len(text) < 1100
    assert text.startswith("job.yaml:3:1: tpu.cloud: no cloud is called 9")
    assert text.endswith(": use local")
