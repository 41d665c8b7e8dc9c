"""What happens to nodes and queued resources in the course of time.

Each life is a coroutine that changes the state as the cloud does, and starts and ends the hosts.
One resource has one life at a time: a new one (a delete, a preemption) ends the one before.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final

import attrs
from google.cloud.tpu_v2alpha1.types import cloud_tpu as api
from google.rpc import code_pb2

from jobman_emulator.catalog import KINDS
from jobman_emulator.errors import ApiError
from jobman_emulator.faults import Faults
from jobman_emulator.limits import Limits, want_of, wants_of
from jobman_emulator.machines import Machines
from jobman_emulator.queueing import ids_of, valid_after, valid_until
from jobman_emulator.state import (
    Initiator,
    NodeState,
    Operation,
    QueuedState,
    State,
    place_of,
)

#: The port of the TPU's own service, which every endpoint shows.
_PORT: Final = 8470
#: How much of the provisioning passes until capacity is looked for.
_QUEUED: Final = 0.2


@attrs.define
class Pace:
    """How long things take, in seconds; what goes on already is not changed."""

    #: From a request until its hosts boot, where there is capacity.
    provisioning: float = 1.0
    #: From the end of the hosts until a deleted name is free.
    deleting: float = 0.3
    #: From one state of a preemption to the next.
    suspending: float = 0.3


@attrs.frozen
class Lives:
    """Runs the lives of all resources in the running loop."""

    state: State
    machines: Machines
    faults: Faults
    limits: Limits
    pace: Pace
    _tasks: dict[str, asyncio.Task[None]] = attrs.field(factory=dict, init=False)

    def start(
        self, name: str, life: Callable[[], Coroutine[None, None, None]]
    ) -> asyncio.Task[None]:
        """Let a resource have another life; give the task that lives it."""
        before = self._tasks.get(name)
        if before:
            before.cancel()
        task = asyncio.create_task(_after(before, life), name=name)
        self._tasks[name] = task
        task.add_done_callback(lambda done: self._forget(name, done))
        return task

    async def aclose(self) -> None:
        """End all lives; the hosts are left to who owns them."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def create_node(self, name: str, operation: Operation) -> None:
        """Let a node that is CREATING become READY, or be refused."""
        node = self.state.nodes[name]
        try:
            await self._pause(_QUEUED * self.pace.provisioning)
            zone = place_of(name)[1]
            error = self.faults.late("CreateNode") or self.limits.shortage([want_of(zone, node)])
            if error:
                raise error
            self.state.granted.add(name)
            await self._pause((1 - _QUEUED) * self.pace.provisioning)
            await self._boot(node)
        except ApiError as error:
            self.state.drop_node(name)
            operation.fail(error)
            return
        self.state.set_node(node, NodeState.READY)
        operation.finish(node)
        if self.faults.takes("vanish-after-create"):
            await self.vanish(name)

    async def start_node(self, name: str, operation: Operation) -> None:
        """Let a stopped node be READY again, with hosts that have booted anew."""
        node = self.state.nodes[name]
        try:
            if error := self.limits.shortage([want_of(place_of(name)[1], node)]):
                raise error
            await self._pause(self.pace.provisioning)
            await self._boot(node)
        except ApiError as error:
            self.state.set_node(node, NodeState.STOPPED)
            operation.fail(error)
            return
        self.state.set_node(node, NodeState.READY)
        operation.finish(node)

    def tell_hosts(self, node: api.Node, operation: Operation) -> None:
        """Let the hosts of a node have its metadata, beside the life that it has."""

        async def tell() -> None:
            await self.machines.set_metadata(node.name, _metadata(node))
            operation.finish(node)

        self.start(operation.name, tell)

    async def stop_node(self, name: str, operation: Operation) -> None:
        """End the hosts of a node that stays."""
        node = self.state.nodes[name]
        await self.machines.halt(name)
        self.state.machines.pop(name, None)
        self.state.set_node(node, NodeState.STOPPED)
        operation.finish(node)

    async def delete_node(self, name: str, operation: Operation) -> None:
        """End the hosts of a node and let its name be free."""
        await self.machines.halt(name)
        await self._pause(self.pace.deleting)
        if not operation.stuck:
            self.state.drop_node(name)
        operation.finish(None)

    async def vanish(self, name: str) -> None:
        """Let a node be gone, with no word."""
        await self.machines.halt(name)
        self.state.drop_node(name)

    async def halt_as(self, name: str, state: api.Node.State) -> None:
        """End the hosts of a node, and only then show a state that says so."""
        await self.machines.halt(name)
        if node := self.state.nodes.get(name):
            self.state.set_node(node, state)

    async def preempt_node(self, name: str, notice: float) -> None:
        """Take a node away: it stays listed, as PREEMPTED."""
        await self._give_notice([name], notice)
        await self.halt_as(name, NodeState.PREEMPTED)

    async def allocate(self, name: str, operation: Operation) -> None:
        """Let a queued resource wait for capacity and become ACTIVE, or fail."""
        queued = self.state.queued[name]
        try:
            await self._pause(_QUEUED / 2 * self.pace.provisioning)
            self.state.set_queued(queued, QueuedState.ACCEPTED, Initiator.USER)
            operation.finish(queued)
            await self._pause(self._seconds_until(valid_after(queued)) or 0.0)
            async with self._valid(queued):
                await self._pause(_QUEUED / 2 * self.pace.provisioning)
                self.state.set_queued(queued, QueuedState.WAITING_FOR_RESOURCES)
                await self._until(lambda: self.limits.shortage(wants_of(queued)) is None)
                await self._provision(queued)
        except ApiError as error:
            if error.code == code_pb2.INTERNAL:
                self.state.set_queued(queued, QueuedState.SUSPENDING)
                await self._pause(self.pace.suspending)
            await self._clear(self.state.nodes_of(name))
            self.state.set_queued(queued, QueuedState.FAILED, error=error)

    async def suspend(self, name: str, initiator: api.QueuedResourceState.StateInitiator) -> None:
        """Let a queued resource that lost a node be SUSPENDED, with no nodes."""
        queued = self.state.queued[name]
        self.state.set_queued(queued, QueuedState.SUSPENDING, initiator)
        await self._pause(self.pace.suspending)
        await self._clear(self.state.nodes_of(name))
        self.state.set_queued(queued, QueuedState.SUSPENDED, initiator)

    async def preempt_queued(self, name: str, notice: float, *, node_first: bool) -> None:
        """Take the nodes of a queued resource away, in one of the orders that were seen."""
        nodes = [node.name for node in self.state.nodes_of(name)]
        if not node_first:
            self.state.set_queued(self.state.queued[name], QueuedState.SUSPENDING)
        await self._give_notice(nodes, notice)
        if node_first:
            for node in nodes:
                await self.halt_as(node, NodeState.PREEMPTED)
            await self._pause(self.pace.suspending)
        await self.suspend(name, Initiator.SERVICE)

    async def delete_queued(self, name: str, operation: Operation) -> None:
        """End all that a queued resource has, and let its name be free."""
        queued = self.state.queued.get(name)
        nodes = self.state.nodes_of(name)
        for node in nodes:
            self.state.set_node(node, NodeState.DELETING)
        await asyncio.gather(*(self.machines.halt(node.name) for node in nodes))
        await self._pause(self.pace.deleting)
        if not operation.stuck:
            self.state.drop_queued(name)
        # The clients of v2alpha1 expect what was deleted, those of v2 nothing.
        operation.finish(queued if operation.version == "v2alpha1" else None)

    async def drop_queued(self, name: str) -> None:
        """Let a queued resource be gone with its nodes, with no word."""
        await self._clear(self.state.nodes_of(name))
        self.state.drop_queued(name)

    async def _provision(self, queued: api.QueuedResource) -> None:
        self.state.set_queued(queued, QueuedState.PROVISIONING)
        nodes = self._new_nodes(queued)
        await self._pause((1 - _QUEUED) * self.pace.provisioning)
        if error := self.faults.late("CreateQueuedResource"):
            raise error
        await asyncio.gather(*map(self._boot, nodes))
        for node in nodes:
            self.state.set_node(node, NodeState.READY)
        self.state.set_queued(queued, QueuedState.ACTIVE)
        if self.faults.takes("vanish-after-create"):
            await self._clear(nodes)

    def _new_nodes(self, queued: api.QueuedResource) -> list[api.Node]:
        nodes = []
        for spec in queued.tpu.node_spec:
            for node_id in ids_of(spec):
                node = api.Node(spec.node)
                node.name = f"{spec.parent}/nodes/{node_id}"
                node.id = self.state.new_id()
                node.create_time = self.state.now()
                node.queued_resource = queued.name
                self.state.nodes[node.name] = node
                self.state.granted.add(node.name)
                self.state.set_node(node, NodeState.CREATING)
                nodes.append(node)
        return nodes

    async def _boot(self, node: api.Node) -> None:
        count = KINDS[node.accelerator_type].hosts
        try:
            machines = await self.machines.boot(node.name, count, _metadata(node))
        except Exception as error:
            # Whatever it was: who waits for the operation would wait for ever.
            raise ApiError(code_pb2.INTERNAL, f"the hosts did not start: {error}") from error
        self.state.machines[node.name] = machines
        external = node.network_config.enable_external_ips
        node.network_endpoints = [
            api.NetworkEndpoint(
                ip_address=machine.internal_ip,
                port=_PORT,
                access_config=api.AccessConfig(external_ip=machine.external_ip)
                if external
                else None,
            )
            for machine in machines
        ]
        node.health = api.Node.Health.HEALTHY

    async def _clear(self, nodes: Iterable[api.Node]) -> None:
        await asyncio.gather(*(self.vanish(node.name) for node in nodes))

    async def _give_notice(self, names: Iterable[str], seconds: float) -> None:
        for name in names:
            await self.machines.give_notice(name)
        await self._pause(seconds)

    @asynccontextmanager
    async def _valid(self, queued: api.QueuedResource) -> AsyncIterator[None]:
        """Let what is inside take as long as the request is valid.

        Raises:
            ApiError: its time has passed.
        """
        limit = asyncio.timeout(self._seconds_until(valid_until(queued)))
        try:
            async with limit:
                yield
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise ApiError(
                code_pb2.DEADLINE_EXCEEDED,
                "The valid-until time of the queued resource has passed before it was provisioned.",
            ) from error

    def _seconds_until(self, moment: datetime | None) -> float | None:
        return max((moment - self.state.now()).total_seconds(), 0.0) if moment else None

    async def _until(self, condition: Callable[[], bool]) -> None:
        changed = asyncio.Event()
        self.state.listeners.add(changed.set)
        try:
            while not condition():
                changed.clear()
                await changed.wait()
        finally:
            self.state.listeners.discard(changed.set)

    async def _pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def _forget(self, name: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(name) is task:
            del self._tasks[name]
        if not task.cancelled() and (error := task.exception()):
            asyncio.get_running_loop().call_exception_handler(
                {"message": f"the life of {name} ended with an error", "exception": error}
            )


def _metadata(node: api.Node) -> dict[str, str]:
    """Give what the hosts of a node are told."""
    return {**node.metadata, "accelerator-type": node.accelerator_type}


async def _after(
    before: asyncio.Task[None] | None, life: Callable[[], Coroutine[None, None, None]]
) -> None:
    """Live a life when the one before it, which was cancelled, has ended."""
    if before:
        await asyncio.wait([before])
    await life()
