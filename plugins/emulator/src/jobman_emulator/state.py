"""What there is: nodes, queued resources and operations, with the rules that hold for them all.

Resources are kept as v2alpha1 messages, by their full names. Nothing here waits or has effects.
"""

import itertools
import re
import secrets
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import attrs
from google.cloud.tpu_v2alpha1.types import cloud_tpu as api
from google.longrunning import operations_pb2
from google.protobuf import any_pb2, empty_pb2
from google.protobuf.message import Message
from google.rpc import code_pb2

from jobman_emulator.catalog import ZONES
from jobman_emulator.errors import ApiError, invalid, not_found
from jobman_emulator.messages import VERSIONS, to_version

if TYPE_CHECKING:
    from jobman_emulator.machines import Machine

NodeState: Final = api.Node.State
QueuedState: Final = api.QueuedResourceState.State
Initiator: Final = api.QueuedResourceState.StateInitiator

_PARENT: Final = re.compile(r"projects/(?P<project>[^/]+)/locations/(?P<zone>[^/]+)")
#: So many operations that have ended, and changes of states, are remembered.
_REMEMBERED: Final = 2000
#: Each state's data, as the message's ``oneof`` calls it.
_DATA: Final = {
    state: f"{state.name.lower()}_data"
    for state in QueuedState
    if f"{state.name.lower()}_data" in api.QueuedResourceState.meta.fields
}


@attrs.define
class Operation:
    """A long-running operation."""

    name: str
    #: Of the API, by which it was asked for: its messages are of that version.
    version: str
    verb: str
    target: str
    created: datetime
    now: Callable[[], datetime]
    #: It never ends, whatever becomes of its target.
    stuck: bool = False
    ended: datetime | None = None
    response: Message | None = None
    error: ApiError | None = None
    cancel_requested: bool = False

    def finish(self, resource: api.Node | api.QueuedResource | None) -> None:
        """End it well, with the resource as it is now; None: it is gone."""
        if self._ends():
            shown = to_version(resource, self.version) if resource else None
            self.response = type(shown).pb(shown) if shown else empty_pb2.Empty()

    def fail(self, error: ApiError) -> None:
        """End it with an error; one that has ended stays as it is."""
        if self._ends():
            self.error = error

    def message(self) -> operations_pb2.Operation:
        """Give it as both doors show it."""
        kind = VERSIONS[self.version]["OperationMetadata"]
        metadata = kind(
            create_time=self.created,
            target=self.target,
            verb=self.verb,
            cancel_requested=self.cancel_requested,
            api_version=self.version,
        )
        if self.ended:
            metadata.end_time = self.ended
        shown = operations_pb2.Operation(name=self.name, done=self.ended is not None)
        shown.metadata.Pack(kind.pb(metadata))
        if self.error:
            shown.error.CopyFrom(self.error.status())
        elif self.response is not None:
            shown.response.CopyFrom(_packed(self.response))
        return shown

    def _ends(self) -> bool:
        if self.stuck or self.ended:
            return False
        self.ended = self.now()
        return True


class State:
    """All that an emulated Cloud TPU has."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        """Start with nothing.

        Args:
            now: gives the time, in UTC.
        """
        self.now = now
        self.nodes: dict[str, api.Node] = {}
        self.queued: dict[str, api.QueuedResource] = {}
        self.operations: dict[str, Operation] = {}
        #: By node: the hosts that were booted for it.
        self.machines: dict[str, Sequence[Machine]] = {}
        #: Nodes that take part of the capacity.
        self.granted: set[str] = set()
        #: Each state that something came to, in their order: its name, and the state or GONE.
        self.history: deque[tuple[str, str]] = deque(maxlen=_REMEMBERED)
        #: Called after each change that somebody may wait for.
        self.listeners: set[Callable[[], None]] = set()
        self._ids = itertools.count(secrets.randbits(60))

    def touch(self) -> None:
        """Tell those who wait that something changed."""
        for listener in tuple(self.listeners):
            listener()

    def node(self, name: str) -> api.Node:
        """Give a node.

        Raises:
            ApiError: there is none of that name.
        """
        return _found(self.nodes, name)

    def queued_resource(self, name: str) -> api.QueuedResource:
        """Give a queued resource.

        Raises:
            ApiError: there is none of that name.
        """
        return _found(self.queued, name)

    def nodes_of(self, queued: str) -> list[api.Node]:
        """Give the nodes that a queued resource has now."""
        return [node for node in self.nodes.values() if node.queued_resource == queued]

    def new_id(self) -> int:
        """Give a number that nothing else has."""
        return next(self._ids)

    def drop_node(self, name: str) -> None:
        """Let a node be gone."""
        if self.nodes.pop(name, None) is not None:
            self.history.append((name, "GONE"))
        self.machines.pop(name, None)
        self.granted.discard(name)
        self.touch()

    def drop_queued(self, name: str) -> None:
        """Let a queued resource be gone, with what is left of its nodes."""
        for node in self.nodes_of(name):
            self.drop_node(node.name)
        if self.queued.pop(name, None) is not None:
            self.history.append((name, "GONE"))
        self.touch()

    def set_node(self, node: api.Node, state: api.Node.State) -> None:
        """Let a node have a state."""
        node.state = state
        self.history.append((node.name, node.state.name))
        self.touch()

    def set_queued(
        self,
        queued: api.QueuedResource,
        state: api.QueuedResourceState.State,
        initiator: api.QueuedResourceState.StateInitiator = Initiator.SERVICE,
        error: ApiError | None = None,
    ) -> None:
        """Let a queued resource have a state; an error tells why it failed."""
        told = api.QueuedResourceState(state=state, state_initiator=initiator)
        if state in _DATA:
            # Present, and empty: that is how the API shows it.
            setattr(told, _DATA[state], {})
        if error:
            told.failed_data.error = error.status()
        queued.state = told
        self.history.append((queued.name, queued.state.state.name))
        self.touch()

    def operation(self, version: str, verb: str, target: str) -> Operation:
        """Begin an operation."""
        moment = self.now()
        parent = "/".join(target.split("/")[:4])
        stamp = int(moment.timestamp() * 1000)
        name = f"{parent}/operations/operation-{stamp}-{secrets.token_hex(7)}"
        operation = Operation(name, version, verb, target, moment, self.now)
        self.operations[name] = operation
        self._forget()
        return operation

    def abandon(self, target: str) -> None:
        """End the operations that still work on what is now being deleted."""
        for operation in self.operations.values():
            if operation.target == target:
                text = f"The operation on '{target}' was cancelled by a delete"
                operation.fail(ApiError(code_pb2.CANCELLED, text))

    def _forget(self) -> None:
        over = len(self.operations) - _REMEMBERED
        old = [name for name, operation in self.operations.items() if operation.ended]
        for name in old[: max(over, 0)]:
            del self.operations[name]


def place_of(name: str) -> tuple[str, str]:
    """Give the project and the zone of a full name, or of a parent.

    Raises:
        ApiError: it is no such name, or there is no such zone.
    """
    match = _PARENT.match(name)
    if match is None:
        raise invalid(f"Invalid resource name '{name}': it is not below projects/P/locations/Z")
    if match["zone"] not in (*ZONES, "-"):
        raise ApiError(
            code_pb2.PERMISSION_DENIED,
            f"Location {match['zone']} is not found or access is unauthorized.",
        )
    return match["project"], match["zone"]


def below(parent: str, names: Iterable[str]) -> list[str]:
    """Give, sorted, the names below a parent; zone ``-`` stands for all.

    Raises:
        ApiError: the parent is not well-formed, or there is no such zone.
    """
    project, zone = place_of(parent)
    start = f"projects/{project}/locations/" + ("" if zone == "-" else f"{zone}/")
    return sorted(name for name in names if name.startswith(start))


def _found(things: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 - what they are made of
    place_of(name)
    if name not in things:
        raise not_found(name)
    return things[name]


def _packed(message: Message) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(message)
    return packed
