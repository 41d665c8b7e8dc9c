"""What an environment.yml comes to on hosts that have none of this machine's files."""

from pathlib import Path

import pytest

from jobman_conda.definition import Definition


def read(folder: Path, text: str) -> Definition:
    path = folder / "environment.yml"
    path.write_text(text)
    return Definition.read(path)


def test_the_packages_that_must_be_there_are_named_without_channel_and_version(
    tmp_path: Path,
) -> None:
    found = read(
        tmp_path,
        "name: x\nchannels: [conda-forge]\ndependencies:\n"
        "  - python=3.12\n  - conda-forge::Numpy >=1.26,<3\n  - scipy[version='>1']\n  - jaxlib\n"
        "  - pip:\n    - wandb\n    - -f https://example.org/x.html\n    - git+https://example.org/y\n",
    )
    assert found.faults == ()
    assert found.names == ("python", "numpy", "scipy", "jaxlib")
    # What it is called on a host is not the file's to say.
    assert found.content.startswith(b"channels: [conda-forge]\ndependencies:\n  - python=3.12\n")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("dependencies: [", "is no YAML"),
        ("- python\n", "has no list `dependencies:`"),
        ("dependencies: {python: 3}\n", "has no list `dependencies:`"),
        ("", "has no list `dependencies:`"),
        ("dependencies: [{pip: [-r requirements.txt]}]\n", "write its lines here"),
        ("dependencies: [{pip: [-e .]}]\n", "install it in the task itself"),
        ("dependencies: [{pip: [./x.whl]}]\n", "install it in the task itself"),
        ("dependencies: [{pip: ['lib/x[all]']}]\n", "install it in the task itself"),
    ],
)
def test_what_no_host_can_use_is_a_fault(tmp_path: Path, text: str, fault: str) -> None:
    (told,) = read(tmp_path, text).faults
    assert fault in told
    assert told.startswith(f"{tmp_path}/environment.yml")


def test_a_file_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    (told,) = Definition.read(tmp_path / "none.yml").faults
    assert "none.yml cannot be read: No such file or directory" in told
