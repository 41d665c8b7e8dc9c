"""Getting an image onto a host, with a stand-in for docker and a metadata server of our own."""

import asyncio
import json

import pytest
from tests.plugins.docker.machine import Machine, job
from tests.plugins.docker.test_containers import run

from jobman_core.command import Command
from jobman_docker import DockerEnvironment

pytestmark = pytest.mark.e2e

GOOGLE = "us-docker.pkg.dev/project/repo/jax:1"
TOKEN = "ya29.canary"


async def set_up(
    machine: Machine, docker: DockerEnvironment, image: str = "jax:1", **env: str
) -> tuple[int, str]:
    (command,) = docker.setup(job(image=image), None)
    return await run(machine, command, **env)


async def metadata(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    asked = await reader.readuntil(b"\r\n\r\n")
    path = b"GET /computeMetadata/v1/instance/service-accounts/default/token "
    good = asked.startswith(path) and b"Metadata-Flavor: Google" in asked
    body = json.dumps({"access_token": TOKEN, "expires_in": 3599, "token_type": "Bearer"})
    status = "200 OK" if good else "403 Forbidden"
    writer.write(f"HTTP/1.0 {status}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
    await writer.drain()
    writer.close()


async def test_an_image_is_pulled_without_a_login_where_none_is_known(
    machine: Machine, docker: DockerEnvironment
) -> None:
    assert (await set_up(machine, docker))[0] == 0
    assert machine.calls("pull") == [["pull", "jax:1"]]
    assert machine.calls("login") == []


@pytest.mark.parametrize("image", [GOOGLE, "gcr.io/project/jax", "eu.gcr.io/project/jax:2"])
async def test_a_registry_of_google_lets_in_the_host_s_service_account(
    machine: Machine, docker: DockerEnvironment, image: str
) -> None:
    async with await asyncio.start_server(metadata, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        code, said = await set_up(
            machine, docker, image, GCE_METADATA_HOST=f"127.0.0.1:{port}", TMPDIR=str(machine.state)
        )
    assert code == 0, said
    registry = f"https://{image.partition('/')[0]}"
    assert json.loads((machine.state / "login-at-pull").read_text()) == {registry: TOKEN}
    assert "canary" not in (machine.state / "calls").read_text() + said
    # Nothing of it stays: not in the user's settings, and not in a folder for a while.
    files = (*machine.home.rglob("*"), *machine.state.rglob("*"))
    kept = [path for path in files if path.is_file() and TOKEN in path.read_text()]
    assert kept == [machine.state / "login-at-pull"]


async def test_without_a_service_account_the_user_s_own_login_has_to_do(
    machine: Machine, docker: DockerEnvironment, unused_tcp_port: int
) -> None:
    nobody = f"127.0.0.1:{unused_tcp_port}"
    code, said = await set_up(machine, docker, GOOGLE, GCE_METADATA_HOST=nobody)
    assert code == 0
    assert "no login to us-docker.pkg.dev as this host's service account" in said
    assert (machine.state / "login-at-pull").read_text() == ""


@pytest.mark.parametrize(
    "refusal",
    [
        "Get https://registry-1.docker.io/v2/: net/http: TLS handshake timeout",
        "Error response from daemon: received unexpected HTTP status: 503 Service Unavailable",
        "dial tcp: lookup registry-1.docker.io: Temporary failure in name resolution",
        "toomanyrequests: You have reached your pull rate limit",
        "read tcp 10.0.0.2:41212->1.2.3.4:443: read: connection reset by peer",
        "unexpected EOF",
    ],
)
async def test_what_passes_is_tried_again(
    machine: Machine, docker: DockerEnvironment, refusal: str
) -> None:
    (machine.state / "no-pull").write_text(refusal)
    code, said = await set_up(machine, docker)
    assert code == 75
    assert "jax:1 could not be pulled for now" in said


@pytest.mark.parametrize(
    ("image", "refusal", "remedy"),
    [
        (
            "jax:1",
            "Error response from daemon: manifest for jax:1 not found: manifest unknown",
            "jax:1 cannot be pulled: check its name and tag",
        ),
        (
            GOOGLE,
            'denied: Permission "artifactregistry.repositories.downloadArtifacts" denied',
            "has the role Artifact Registry Reader",
        ),
        (
            "jax:1",
            "failed to register layer: write /usr/lib/x: no space left on device",
            "make room on the disk",
        ),
        ("jax:1", "something else", "see what docker said"),
    ],
)
async def test_what_does_not_pass_says_what_to_do(
    machine: Machine, docker: DockerEnvironment, image: str, refusal: str, remedy: str
) -> None:
    (machine.state / "no-pull").write_text(refusal)
    code, said = await set_up(machine, docker, image, GCE_METADATA_HOST="127.0.0.1:1")
    assert code == 1
    assert remedy in said
    assert said.splitlines()[-1] == refusal


async def test_an_image_that_was_made_on_the_host_needs_no_registry(
    machine: Machine, docker: DockerEnvironment
) -> None:
    (machine.state / "no-pull").write_text("pull access denied for jax, repository does not exist")
    (machine.state / "images").write_text("jax:1\n")
    code, said = await set_up(machine, docker)
    assert code == 0
    assert "the one that this host has is used" in said


async def test_a_daemon_that_is_not_up_yet_is_waited_for(
    machine: Machine, docker: DockerEnvironment
) -> None:
    (machine.state / "down").touch()
    code, said = await set_up(machine, docker)
    assert code == 75
    assert "sudo systemctl start docker" in said


def as_ada(machine: Machine, *, sudo: bool) -> None:
    """Be someone whom docker does not let in, and sudo does or does not."""
    (machine.state / "root-only").touch()
    machine.program("id", "case $1 in -u) echo 1000 ;; *) echo ada ;; esac")
    allowed = '[ "$1 $2" = "-n -E" ] || exit 9; shift 2; AS_ROOT=1 exec "$@"'
    machine.program("sudo", allowed if sudo else "exit 1")


async def test_sudo_is_used_where_docker_is_root_s(
    machine: Machine, docker: DockerEnvironment
) -> None:
    as_ada(machine, sudo=True)
    assert (await set_up(machine, docker))[0] == 0
    assert machine.calls("pull")
    plain = Command(("bash", "-c", "echo $X"), env={"X": "passed on"})
    wrapped = docker.wrap(job(), None, plain)
    env = {**wrapped.env, "JOBMAN_ATTEMPT_TOKEN": "t.1.2"}
    assert await run(machine, wrapped, **env) == (0, "passed on\n")
    assert await run(machine, docker.end(job(), "t")) == (0, "")


async def test_someone_whom_nobody_lets_in_is_told_what_to_ask_for(
    machine: Machine, docker: DockerEnvironment
) -> None:
    as_ada(machine, sudo=False)
    code, said = await set_up(machine, docker)
    assert code == 1
    assert "docker does not let ada in, with sudo neither: sudo usermod -aG docker ada" in said


async def test_a_look_at_the_host_says_whether_the_daemon_answers(
    machine: Machine, docker: DockerEnvironment
) -> None:
    (problem,) = docker.problems(job())
    check = machine.home / "check"
    check.write_text(problem.check)
    assert await run(machine, Command(("bash", str(check)))) == (0, "")
    (machine.state / "down").touch()
    code, said = await run(machine, Command(("bash", str(check))))
    assert code == 1
    assert len(said.splitlines()) == 1
    assert "does not answer" in said
