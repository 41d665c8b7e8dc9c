"""YAML itself: what is refused, and where; and that values keep their source text."""

import pytest

from jobman_core.config.nodes import Scalar, locate, to_data
from jobman_core.config.source import Source, parse_source
from jobman_core.errors import ConfigError


def parse(text: str) -> Source:
    return parse_source(text, "f.yaml")


def faults_of(text: str) -> list[str]:
    try:
        faults = parse(text).faults
    except ConfigError as error:
        faults = error.faults
    return [str(fault).removeprefix("f.yaml:") for fault in faults]


def test_every_value_keeps_its_text_and_place() -> None:
    root = parse("job:\n  name: 007\n  list: [1e3, 3.10]\n").root
    assert to_data(root) == {"job": {"name": 7, "list": [1000.0, 3.1]}}
    job = root["job"]
    assert isinstance(job, dict)
    name = job["name"]
    assert isinstance(name, Scalar)
    assert name.text == "007"
    assert locate(root, ("job", "name")) == (2, 9)
    assert locate(root, ("job", "list", 1)) == (3, 15)
    # What is not there has the place of what is around it.
    assert locate(root, ("job", "zone")) == (1, 1)


def test_merge_keys_and_aliases_work() -> None:
    text = "a: &a {x: 1, y: 2}\nb:\n  <<: *a\n  y: 3\nc:\n  <<: [*a, {x: 9, z: 4}]\nd: *a\n"
    source = parse(text)
    assert source.faults == ()
    assert to_data(source.root) == {
        "a": {"x": 1, "y": 2},
        "b": {"x": 1, "y": 3},
        "c": {"x": 1, "y": 2, "z": 4},
        "d": {"x": 1, "y": 2},
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "0:0: the file is empty: write the keys that it should have"),
        ("# nothing\n---\n", "0:0: the file is empty: write the keys that it should have"),
        ("- a\n", "1:1: the file must be a map of keys, not a list: write `key: value` lines"),
        ("hello\n", "1:1: the file must be a map of keys, not 'hello': write `key: value` lines"),
        ("job:\n\tname: x\n", "2:1: a tab cannot indent: use spaces"),
        ("job:\n  a: 1\n\tb: 2\n", "3:1: a tab cannot indent: use spaces"),
        ("a:\n  - x\n\t- y\n", "3:1: a tab cannot indent: use spaces"),
        ("a: b: c\n", "1:5: not valid YAML: mapping values are not allowed here"),
        ("a: 1\na: 2\n", "2:1: a: duplicate key 'a': it stands on line 1 already"),
        (
            "s:\n  b: 1\n  c: 2\n  b: {x: 1}\n",
            "4:3: s.b: duplicate key 'b': it stands on line 2 already",
        ),
        ("a: [{x: 1, x: 2}]\n", "1:12: a[0].x: duplicate key 'x': it stands on line 1 already"),
        (
            "a: 1\n---\nb: 2\n",
            "2:1: a second document begins here: only one is allowed, remove the `---`",
        ),
        ("%YAML 1.1\n---\na: 1\n", "2:1: directives (%YAML, %TAG) are not used here: remove them"),
        (
            "a: !!python/object/apply:os.system [x]\n",
            "1:4: a: YAML tags are not used here: remove `!!python/object/apply:os.system`",
        ),
        ("a: !x 1\n", "1:4: a: YAML tags are not used here: remove `!x`"),
        ("!!map {a: 1}\n", "1:1: YAML tags are not used here: remove `!!map`"),
        ("a: *x\n", "1:4: a: alias *x has no anchor &x before it"),
        ("a: &a [1, *a]\n", "1:11: a[1]: alias *a refers to what it is part of: write it out"),
        ("x: &x y\n*x : 1\n", "2:1: an alias cannot be a key: write the key out"),
        ("? [a]\n: b\n", "1:3: a key must be text, not a list or a map: put it in quotes"),
        ("1: x\n", "1:1: a key must be text, and '1' is not: put it in quotes"),
        ("true: x\n", "1:1: a key must be text, and 'true' is not: put it in quotes"),
        (": x\n", "1:1: a key must be text, and an empty key is not: put it in quotes"),
        ("a: {<<: 3}\n", "1:9: a.<<: `<<` merges maps, not '3': give it an alias of a map"),
        ('a: "x\\0y"\n', "1:4: a: a NUL or half a character has no place in a text"),
        ('a: "\\uD800"\n', "1:4: a: a NUL or half a character has no place in a text"),
    ],
)
def test_what_is_refused(text: str, expected: str) -> None:
    assert faults_of(text) == [expected]


def test_an_unclosed_quote_says_where_it_began() -> None:
    (fault,) = faults_of("a: 1\nb: 'x\nc: 2\n")
    assert fault.startswith("4:1: not valid YAML: ")
    assert fault.endswith("(begun on line 2)")


def test_an_escape_that_is_no_character_is_a_fault() -> None:
    (fault,) = faults_of('a: "\\UFFFFFFFF"\n')
    assert "not valid YAML" in fault


def test_all_faults_that_leave_the_file_readable_are_told_at_once() -> None:
    text = "a: !x 1\nb: 1\nb: 2\n3: c\n"
    assert [fault.partition(": ")[0] for fault in faults_of(text)] == ["1:4", "3:1", "4:1"]


def test_an_alias_bomb_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 30)]
    (fault,) = faults_of("\n".join(lines))
    assert "the aliases in this file blow it up beyond reason" in fault


def test_an_alias_bomb_of_one_long_text_is_refused() -> None:
    text = f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 2_000)}]\n"
    (fault,) = faults_of(text)
    assert "the aliases in this file blow it up beyond reason" in fault


def test_deep_nesting_is_refused_before_it_is_read() -> None:
    (fault,) = faults_of("a: " + "[" * 100_000)
    assert "nest deeper than" in fault
    (fault,) = faults_of("".join(f"{' ' * i}a:\n" for i in range(500)))
    assert "nest deeper than" in fault
