"""Virtual environments are made by Python, uv and pip themselves."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest
from tests.plugins.venv.conftest import MakeSpec, VenvHost
from tests.support.wheels import make_wheel

#: Pythons start often here, and slowly where much else runs.
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
#: A Python like that of a Debian without python3-venv.
LAME = f'[[ $2 != *ensurepip* ]] || exit 1; exec {sys.executable} "$@"'
MODULES = "python -c 'import alpha; print(alpha.VERSION)'"


def program(folder: Path, name: str, text: str) -> str:
    """Write a program; give the PATH on which it comes first."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


async def test_requirements_are_installed_and_an_edited_file_installs_what_it_adds(
    host: VenvHost, make_spec: MakeSpec
) -> None:
    host.install_uv()
    before = make_spec("alpha==1.0")
    first = host.commands(before)
    assert (await host.setup(before)).ok
    assert await host.says(before, MODULES) == (0, "1.0\n")
    after = make_spec("alpha==2.0", "beta")
    assert host.commands(after) != first
    done = await host.setup(after)
    assert done.ok
    assert "+ beta==0.5" in done.stdout.decode()
    assert await host.says(
        after, f"{MODULES}; beta-say; pip --version > /dev/null && echo pip"
    ) == (
        0,
        "2.0\nbeta 0.5\npip\n",
    )


async def test_without_uv_pip_installs_and_heeds_constraints(
    host: VenvHost, make_spec: MakeSpec, tmp_path: Path
) -> None:
    (tmp_path / "pins.txt").write_text("alpha==1.0  # the last that works\n")
    spec = make_spec("--prefer-binary", f"-i {host.index.url}", "beta", "-c pins.txt")
    done = await host.setup(spec)
    assert done.ok, done.tail()
    assert "Successfully installed alpha-1.0 beta-0.5" in done.stdout.decode()


@pytest.mark.parametrize("installer", ["uv", "pip"])
async def test_what_passes_by_itself_is_tried_again_and_what_stays_is_not(
    host: VenvHost, make_spec: MakeSpec, installer: str
) -> None:
    host.install_uv()
    assert (await host.setup(make_spec())).ok
    also = ("--prefer-binary",) if installer == "pip" else ()
    mirror = {"UV_INDEX_URL" if installer == "uv" else "PIP_INDEX_URL": host.index.url}
    missing = await host.setup(make_spec(*also, "gamma"), **mirror)
    assert missing.code not in {0, 75}
    assert "gamma" in missing.tail(2)
    assert (b"Using Python" in missing.stdout) is (installer == "uv")
    host.index.status = 503
    assert (await host.setup(make_spec(*also, "alpha"), **mirror)).code == 75


async def test_a_conflict_stays_and_an_index_that_nobody_serves_may_come_back(
    host: VenvHost, make_spec: MakeSpec
) -> None:
    host.install_uv()
    assert (await host.setup(make_spec())).ok
    conflict = await host.setup(make_spec("alpha==1.0", "alpha==2.0"))
    assert conflict.code not in {0, 75}
    assert "alpha" in conflict.stdout.decode()
    nobody = "http://127.0.0.1:9/simple"
    assert (await host.setup(make_spec("alpha"), UV_INDEX_URL=nobody)).code == 75


@pytest.mark.parametrize("told", ["PIP_CONFIG_FILE", "PIP_INDEX_URL"])
async def test_where_pip_is_told_of_a_mirror_it_is_pip_that_installs(
    host: VenvHost, make_spec: MakeSpec, told: str
) -> None:
    host.install_uv()
    assert (await host.setup(make_spec())).ok
    url, file = host.index.url, host.home / "pip.conf"
    file.write_text(f"[global]\nindex-url = {url}\n")
    value = {"PIP_CONFIG_FILE": str(file), "PIP_INDEX_URL": url}[told]
    done = await host.setup(make_spec("alpha"), **{"UV_INDEX_URL": "", told: value})
    assert "Successfully installed alpha-2.0" in done.stdout.decode()


async def test_one_that_was_cut_short_is_no_environment_until_it_is_made_anew(
    host: VenvHost, make_spec: MakeSpec
) -> None:
    host.install_uv()
    spec = make_spec("alpha")
    host.index.answers.clear()
    host.index.asked.clear()
    (command,) = host.commands(spec)
    process = await asyncio.create_subprocess_exec(
        *command.argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        env={"HOME": str(host.home), **command.env},
        start_new_session=True,
    )
    assert process.stdin is not None
    process.stdin.write(command.stdin)
    process.stdin.close()
    assert await asyncio.to_thread(host.index.asked.wait, 30)
    os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
    # One that comes to nothing changes nothing about that.
    assert not (await host.setup(make_spec("--pre", "alpha", python="3.2"))).ok
    code, said = await host.says(spec, "echo ran > ran")
    assert (code, "half made" in said) == (78, True)
    assert not (host.home / "ran").exists()
    (host.home / "my_venv" / "left-behind").touch()
    host.index.answers.set()
    make_spec("alpha")
    done = await host.setup(spec)
    assert done.ok, done.tail()
    assert await host.says(spec, MODULES) == (0, "2.0\n")
    assert not (host.home / "my_venv" / "left-behind").exists()


async def test_another_version_of_python_makes_it_anew(
    host: VenvHost, make_spec: MakeSpec
) -> None:
    host.install_uv()
    assert (await host.setup(make_spec(python=sys.executable))).ok
    (host.home / "my_venv" / "left-behind").touch()
    # The same one leaves it as it is, however it is named.
    path = program(host.home / "bin", f"python{VERSION}", f'exec {sys.executable} "$@"')
    assert (await host.setup(make_spec(python=f"python{VERSION}"), PATH=path)).ok
    assert (host.home / "my_venv" / "left-behind").exists()
    newer = f'[[ $* != *version_info* ]] || exec echo 3.99; exec {sys.executable} "$@"'
    path = program(host.home / "bin", "python3.99", newer)
    done = await host.setup(make_spec(python="3.99"), PATH=path)
    assert done.ok, done.tail()
    assert not (host.home / "my_venv" / "left-behind").exists()
    assert (await host.says(make_spec(), "python -c 'import sys'")) == (0, "")


async def test_a_python_that_is_not_there_is_said_with_those_that_are(
    host: VenvHost, make_spec: MakeSpec
) -> None:
    done = await host.setup(make_spec("--prefer-binary", "alpha", python="3.2"))
    assert done.code == 1
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("jobman: this host has no Python 3.2: found 3.")
    assert "write one of those to venv.python" in line
    done = await host.setup(make_spec(python="/opt/none/bin/python"))
    assert "/opt/none/bin/python is no Python that runs on this host" in done.tail(1)


async def test_where_debian_leaves_out_ensurepip_uv_makes_it(
    host: VenvHost, make_spec: MakeSpec
) -> None:
    host.install_uv()
    program(host.home / "lame", "python3", LAME)
    spec = make_spec("alpha", python="~/lame/python3")
    done = await host.setup(spec)
    assert done.ok, done.tail()
    assert await host.says(spec, f"{MODULES}; pip --version | cut -c 1-3") == (0, "2.0\npip\n")


async def test_where_nothing_makes_one_apt_is_asked_and_waited_for(
    host: VenvHost, make_spec: MakeSpec
) -> None:
    program(host.home / "lame", "python3", LAME)
    spec = make_spec("--prefer-binary", "alpha", python="~/lame/python3")
    tools = host.home / "tools"
    program(tools, "apt-cache", "exit 0")
    program(tools, "sudo", 'shift; exec "$@"')
    path = program(
        tools,
        "apt-get",
        "echo 'E: Could not get lock /var/lib/dpkg/lock-frontend. It is held'; exit 100",
    )
    busy = await host.setup(spec, PATH=path, JOBMAN_LOCAL_SLICE="")
    assert busy.code == 75
    program(tools, "apt-get", "echo 'E: Unable to locate package'; exit 100")
    refused = await host.setup(spec, PATH=path, JOBMAN_LOCAL_SLICE="")
    assert refused.code == 1
    assert f"python{VERSION}-venv is missing, and there is no uv" in refused.tail(1)
    # On somebody's own machine nothing is installed.
    program(tools, "apt-get", "touch ~/asked; exit 100")
    assert (await host.setup(spec, PATH=path)).code == 1
    assert not (host.home / "asked").exists()


async def test_a_folder_that_is_no_environment_is_left_alone(
    host: VenvHost, make_spec: MakeSpec
) -> None:
    (host.home / "my_venv").mkdir()
    (host.home / "my_venv" / "thesis.txt").touch()
    done = await host.setup(make_spec())
    assert done.code == 1
    assert "is there, and is no virtual environment: give venv.name another name" in done.tail(1)
    assert (host.home / "my_venv" / "thesis.txt").exists()


async def test_one_that_is_there_already_gets_the_requirements_and_keeps_the_rest(
    host: VenvHost, make_spec: MakeSpec
) -> None:
    make_wheel(host.index.wheels, "theirs", "3.0")
    host.install_uv()
    assert (await host.setup(make_spec("theirs"))).ok
    spec = make_spec("gamma")
    assert not (await host.setup(spec)).ok
    assert await host.says(spec, "theirs-say") == (0, "theirs 3.0\n")
    assert (await host.setup(make_spec("alpha"))).ok
    assert await host.says(spec, f"theirs-say; {MODULES}") == (0, "theirs 3.0\n2.0\n")
