"""What hosts are told, which devices they have, and who may log in."""

import asyncio
import socket
from collections.abc import AsyncGenerator

import aiohttp
import pytest

from jobman_emulator.accounts import keys_of
from jobman_emulator.devices import devices_of
from jobman_emulator.metadata_server import MetadataServer, Tree

FLAVOR = {"Metadata-Flavor": "Google"}


@pytest.fixture
async def server() -> MetadataServer:
    instance: dict[str, Tree] = {
        "attributes": {"purpose": "test"},
        "name": "n-w-0",
        "preempted": "FALSE",
    }
    return MetadataServer(instance, {"project-id": "p"})


@pytest.fixture
async def web(server: MetadataServer) -> AsyncGenerator[aiohttp.ClientSession]:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    await server.serve(listening)
    url = f"http://127.0.0.1:{listening.getsockname()[1]}/computeMetadata/v1/"
    async with aiohttp.ClientSession(url, headers=FLAVOR) as session:
        yield session
    await server.aclose()


async def ask(web: aiohttp.ClientSession, path: str) -> tuple[int, str]:
    async with web.get(path) as said:
        return said.status, await said.text()


async def test_a_value_is_read_by_its_path(web: aiohttp.ClientSession) -> None:
    assert await ask(web, "instance/attributes/purpose") == (200, "test")
    assert await ask(web, "project/project-id") == (200, "p")


async def test_a_folder_lists_what_is_in_it_and_all_of_it_when_asked(
    web: aiohttp.ClientSession,
) -> None:
    assert await ask(web, "instance/") == (200, "attributes/\nname\npreempted\n")
    async with web.get("instance/attributes/?recursive=true") as said:
        assert await said.json() == {"purpose": "test"}


async def test_what_is_not_there_is_404(web: aiohttp.ClientSession) -> None:
    assert (await ask(web, "instance/nothing"))[0] == 404
    assert (await ask(web, "instance/name/deeper"))[0] == 404


async def test_who_does_not_name_the_flavor_is_refused(web: aiohttp.ClientSession) -> None:
    async with web.get("instance/name", headers={"Metadata-Flavor": "none"}) as said:
        assert said.status == 403


async def test_who_waits_hears_of_a_change_at_once(
    server: MetadataServer, web: aiohttp.ClientSession
) -> None:
    async with web.get("instance/preempted") as said:
        etag = said.headers["ETag"]
    path = f"instance/preempted?wait_for_change=true&timeout_sec=20&last_etag={etag}"
    waiting = asyncio.create_task(ask(web, path))
    await ask(web, "instance/name")
    server.change("name", "other")  # not what is waited for
    server.change("preempted", "TRUE")
    assert await waiting == (200, "TRUE")


async def test_who_waits_in_vain_hears_what_it_is(web: aiohttp.ClientSession) -> None:
    path = "instance/preempted?wait_for_change=true&timeout_sec=0.05"
    assert await ask(web, path) == (200, "FALSE")
    assert (await ask(web, "instance/preempted?wait_for_change=true&timeout_sec=x"))[0] == 400


async def test_who_waits_is_cut_off_when_the_host_ends(
    server: MetadataServer, web: aiohttp.ClientSession
) -> None:
    waiting = asyncio.create_task(ask(web, "instance/preempted?wait_for_change=true"))
    await ask(web, "instance/name")
    await asyncio.wait_for(server.aclose(), 10)
    with pytest.raises(aiohttp.ClientError):
        await waiting


async def test_a_change_that_came_before_the_wait_is_told_at_once(
    web: aiohttp.ClientSession,
) -> None:
    path = "instance/preempted?wait_for_change=true&timeout_sec=20&last_etag=older"
    assert await ask(web, path) == (200, "FALSE")


def test_keys_are_known_by_user_without_their_comments() -> None:
    lines = "ann:ssh-ed25519 AAAA ann@home\nbob.b:ssh-rsa BBBB\nann:ssh-rsa CCCC google-ssh {}"
    assert keys_of({"ssh-keys": lines}) == {
        "ann": ("ssh-ed25519 AAAA", "ssh-rsa CCCC"),
        "bob.b": ("ssh-rsa BBBB",),
    }


@pytest.mark.parametrize(
    "line", ["", "no key here", "ann:", "ann:ssh-rsa", "-rm:ssh-rsa AAAA", "a b:ssh-rsa AAAA"]
)
def test_a_line_that_names_no_user_and_key_is_passed_over(line: str) -> None:
    assert keys_of({"ssh-keys": f"{line}\nann:ssh-rsa AAAA\n"}) == {"ann": ("ssh-rsa AAAA",)}


@pytest.mark.parametrize(
    ("kind", "count", "first"),
    [
        ("v4-8", 4, "/dev/accel0"),
        ("v3-32", 4, "/dev/accel0"),
        ("v5p-128", 5, "/dev/vfio/vfio"),
        ("v5litepod-1", 2, "/dev/vfio/vfio"),
        ("v5litepod-8", 9, "/dev/vfio/vfio"),
        ("v6e-64", 5, "/dev/vfio/vfio"),
    ],
)
def test_a_host_has_a_device_for_each_of_its_chips(kind: str, count: int, first: str) -> None:
    devices = devices_of({"accelerator-type": kind})
    assert (len(devices), devices[0]) == (count, first)


def test_a_host_of_no_known_kind_has_no_devices() -> None:
    assert devices_of({}) == []
