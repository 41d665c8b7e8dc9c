"""Slices of the emulated API whose hosts are really there."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.emulator.conftest import Api, Rest, node_name
from tests.support.machines import Client, Said

from jobman_emulator.machines import Machine, Machines
from jobman_emulator.netns_hosts import NetnsHosts
from jobman_emulator.process_hosts import ProcessHosts
from jobman_emulator.testing import Running, running

pytestmark = pytest.mark.e2e

#: A program that stays, whatever becomes of whoever started it.
STAYS = "setsid sleep 1000 > /dev/null 2>&1 & echo up"


@pytest.fixture(params=["process", pytest.param("netns", marks=pytest.mark.root)])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def client(kind: str, tmp_path: Path) -> Client:
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]
    return Client.new(tmp_path / "client", free if kind == "process" else 22)


@pytest.fixture
def emulator(kind: str, client: Client, tmp_path: Path) -> Iterator[Running]:
    def machines() -> Machines:
        folder = tmp_path / "hosts"
        if kind == "process":
            return ProcessHosts(folder, port=client.port)
        return NetnsHosts(folder)

    with running(machines) as emulator:
        yield emulator


@pytest.fixture
def slice_(api: Api, rest: Rest, client: Client) -> list[Machine]:
    """Give the two hosts of a slice, as the API tells of them."""
    return hosts_of(api.ready_node("n", "v4-16", metadata={"ssh-keys": client.line}), rest)


def hosts_of(node: Any, rest: Rest) -> list[Machine]:
    status, document = rest("POST", f"v2/{node.name}:getGuestAttributes", {})
    assert status == 200
    keys = [
        f"{item['key']} {item['value']}"
        for host in document["guestAttributes"]
        for item in host["queryValue"]["items"]
        if item["namespace"] == "hostkeys"
    ]
    ends = node.network_endpoints
    return [
        Machine(index, end.ip_address, end.access_config.external_ip, (key,))
        for index, (end, key) in enumerate(zip(ends, keys, strict=True))
    ]


def ask(client: Client, machine: Machine, *command: str) -> Said:
    return asyncio.run(client.ask(machine, *command))


def test_a_slice_is_reached_at_the_addresses_and_by_the_host_keys_that_the_api_tells(
    client: Client, slice_: list[Machine]
) -> None:
    assert [ask(client, host, "echo here").out for host in slice_] == [b"here\n", b"here\n"]


@pytest.mark.parametrize("verb", ["preempt", "delete", "stop"])
def test_all_processes_of_a_slice_that_is_lost_are_gone(
    api: Api, emulator: Running, client: Client, slice_: list[Machine], verb: str
) -> None:
    assert [ask(client, host, STAYS).code for host in slice_] == [0, 0]
    assert emulator.counts().processes >= 2
    if verb == "preempt":
        emulator.preempt(node_name("n"))
    elif verb == "stop":
        api.client.stop_node(request={"name": node_name("n")}).result()
    else:
        api.delete_node("n").result()
    assert emulator.counts().processes == 0
    assert ask(client, slice_[0], "-o", "ConnectTimeout=2", "true").code == 255


def test_a_slice_that_is_started_again_has_hosts_that_are_new(
    api: Api, rest: Rest, client: Client, slice_: list[Machine]
) -> None:
    assert ask(client, slice_[0], ": > here").code == 0
    api.client.stop_node(request={"name": node_name("n")}).result()
    again = hosts_of(api.client.start_node(request={"name": node_name("n")}).result(), rest)
    assert ask(client, again[0], "ls") == Said(0, b"", b"")
    assert again[0].host_keys != slice_[0].host_keys


def test_a_slice_whose_host_is_down_still_says_that_it_is_ready(
    api: Api, emulator: Running, client: Client, slice_: list[Machine]
) -> None:
    emulator.host_down(node_name("n"), 1)
    assert api.node_state("n") == "READY"
    assert ask(client, slice_[0], "true").code == 0
    assert ask(client, slice_[1], "-o", "ConnectTimeout=2", "true").code == 255


def test_a_key_in_changed_metadata_lets_in(
    api: Api, client: Client, slice_: list[Machine], tmp_path: Path
) -> None:
    late = Client.new(tmp_path / "late", client.port, user="late")
    assert ask(late, slice_[0], "true").code == 255
    wanted = api.types.Node(name=node_name("n"), metadata={"ssh-keys": late.line})
    api.client.update_node(node=wanted, update_mask={"paths": ["metadata"]}).result()
    assert ask(late, slice_[0], "true").code == 0


def test_hosts_of_a_node_that_is_deleted_while_it_is_made_are_gone(
    api: Api, emulator: Running, client: Client
) -> None:
    api.create_node("n", "v4-16", metadata={"ssh-keys": client.line})
    api.delete_node("n").result()
    assert (api.node_state("n"), emulator.counts().processes) == ("GONE", 0)
