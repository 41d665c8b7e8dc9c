"""What requirements files come to on hosts that have none of this machine's files."""

from pathlib import Path

import pytest

from jobman_venv.requirements import Requirements


def read(folder: Path, **files: str) -> Requirements:
    """Write files; read the one called ``main``."""
    for name, text in files.items():
        (folder / f"{name}.txt").write_text(text)
    return Requirements.read(folder / "main.txt")


def test_includes_are_part_of_it_and_constraints_are_kept_apart(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "deep.txt").write_text("gamma\n")
    found = read(
        tmp_path,
        main="# ours\nalpha >= 1.0  # the first that works\n-r base.txt\n--constraint=pins.txt\n",
        base="beta[extra]==2.0; python_version > '3.8'\n-r sub/deep.txt\n",
        pins="alpha==1.5\n-c more.txt\n",
        more="beta<3\n",
    )
    assert found.faults == []
    assert found.content.decode().splitlines() == [
        "alpha >= 1.0",
        "beta[extra]==2.0; python_version > '3.8'",
        "gamma",
    ]
    assert found.constraints_content.decode().splitlines() == ["alpha==1.5", "beta<3"]


def test_the_packages_that_must_be_there_are_those_wanted_everywhere(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        main="alpha\nbeta; sys_platform == 'win32'\njax[tpu]==0.4.30\n"
        "delta @ https://example.org/delta-1-py3-none-any.whl\nhttps://example.org/x.whl\n",
    )
    assert found.names == ["alpha", "jax", "delta"]


def test_lines_that_go_on_and_hashes_stay_as_they_are(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        main="alpha==1.0 \\\n    --hash=sha256:00 \\\n    --hash=sha256:11\nbeta\n",
    )
    assert found.content.decode().splitlines() == [
        "alpha==1.0     --hash=sha256:00     --hash=sha256:11",
        "beta",
    ]
    assert (found.names, found.for_pip) == (["alpha", "beta"], False)


@pytest.mark.parametrize(
    ("line", "for_pip", "offline"),
    [
        ("--index-url https://example.org/simple", False, False),
        ("-f https://storage.googleapis.com/jax-releases/libtpu_releases.html", False, False),
        ("--find-links /mnt/wheels", False, False),
        ("--no-index", False, True),
        ("--pre", True, False),
        ("--trusted-host example.org", True, False),
        ("-e git+https://example.org/code.git#egg=code", True, False),
        ("alpha --config-settings=x=y", True, False),
    ],
)
def test_options_that_uv_does_not_heed_are_pips(
    tmp_path: Path, line: str, for_pip: bool, offline: bool
) -> None:
    found = read(tmp_path, main=line)
    assert (found.faults, found.for_pip, found.offline) == ([], for_pip, offline)
    assert found.lines == [line]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("-e .", "-e . is a folder of this machine"),
        ("--editable=../lib[all]", "-e ../lib[all] is a folder of this machine"),
        ("./wheels/alpha-1.0-py3-none-any.whl", "is a file of this machine"),
        ("alpha-1.0.tar.gz", "is a file of this machine"),
        ("lib/alpha", "is a file of this machine"),
        (".", "is a file of this machine"),
        ("-f wheels", "'wheels' is a folder of this machine"),
        ("-r https://example.org/all.txt", "download it, and name the file here"),
        ("-r none.txt", "none.txt cannot be read: No such file or directory"),
        ("-r main.txt", "main.txt includes itself"),
    ],
)
def test_what_no_host_has_is_a_fault_with_its_line(tmp_path: Path, line: str, fault: str) -> None:
    (told,) = read(tmp_path, main=f"alpha\n{line}\n").faults
    assert fault in told
    if "none" not in line and "main" not in line:
        assert told.startswith(f"{tmp_path}/main.txt:2: ")


@pytest.mark.parametrize(
    "line",
    [
        "alpha @ file:///mnt/wheels/alpha.whl",
        "/mnt/wheels/alpha.whl",
        "git+ssh://git@example.org/x",
    ],
)
def test_what_hosts_may_have_is_theirs_to_find(tmp_path: Path, line: str) -> None:
    assert read(tmp_path, main=line).faults == []


def test_all_faults_are_told_of_at_once(tmp_path: Path) -> None:
    found = read(tmp_path, main="-e .\n-r base.txt\n", base="./x.whl\n")
    assert [fault.partition(": ")[0] for fault in found.faults] == [
        f"{tmp_path}/main.txt:1",
        f"{tmp_path}/base.txt:1",
    ]


def test_what_other_tools_lock_or_read_is_no_requirements_file(tmp_path: Path) -> None:
    (fault,) = Requirements.read(tmp_path / "pyproject.toml").faults
    assert "pyproject.toml is no requirements file: write one that pip reads" in fault


def test_a_file_that_is_no_text_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "main.txt").write_bytes(b"alpha\xff\n")
    (fault,) = Requirements.read(tmp_path / "main.txt").faults
    assert "is not text in UTF-8" in fault
