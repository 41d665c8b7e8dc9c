"""The methods on nodes."""

from google.cloud.tpu_v2alpha1.types import cloud_tpu as api

from jobman_emulator import rules
from jobman_emulator.errors import busy, exists, invalid, refused
from jobman_emulator.limits import want_of
from jobman_emulator.lives import Lives
from jobman_emulator.paging import page
from jobman_emulator.state import (
    Initiator,
    NodeState,
    Operation,
    QueuedState,
    State,
    below,
    place_of,
)


class Nodes:
    """The methods on nodes."""

    def __init__(self, state: State, lives: Lives) -> None:
        """Serve one state."""
        self._state = state
        self._lives = lives

    def list_nodes(self, request: api.ListNodesRequest, _version: str) -> api.ListNodesResponse:
        """List the nodes of a zone, or of all (``-``)."""
        names, token = page(below(request.parent, self._state.nodes), request)
        nodes = [self._state.nodes[name] for name in names]
        return api.ListNodesResponse(nodes=nodes, next_page_token=token)

    def get_node(self, request: api.GetNodeRequest, _version: str) -> api.Node:
        """Describe a node."""
        return self._state.node(request.name)

    def create_node(self, request: api.CreateNodeRequest, version: str) -> Operation:
        """Begin a node."""
        zone = place_of(request.parent)[1]
        rules.check_id("node_id", request.node_id)
        node = api.Node(request.node)
        node.name = f"{request.parent}/nodes/{request.node_id}"
        rules.complete(node, request.parent)
        check_free(self._state, node.name)
        self._lives.limits.check_quota([want_of(zone, node)], queued=False)
        node.id = self._state.new_id()
        node.create_time = self._state.now()
        self._state.nodes[node.name] = node
        self._state.set_node(node, NodeState.CREATING)
        operation = self._state.operation(version, "create", node.name)
        operation.stuck = self._lives.faults.takes("stuck-create")
        self._lives.start(node.name, lambda: self._lives.create_node(node.name, operation))
        return operation

    def delete_node(self, request: api.DeleteNodeRequest, version: str) -> Operation:
        """Begin the end of a node; its queued resource, if it has one, is suspended."""
        node = self._state.node(request.name)
        if node.state == NodeState.DELETING:
            raise busy(node.name)
        self._state.abandon(node.name)
        operation = self._state.operation(version, "delete", node.name)
        operation.stuck = self._lives.faults.takes("stuck-delete")
        if self._lives.faults.takes("instant-delete"):
            self._state.drop_node(node.name)
        else:
            self._state.set_node(node, NodeState.DELETING)
        self._lives.start(node.name, lambda: self._lives.delete_node(node.name, operation))
        queued = self._state.queued.get(node.queued_resource)
        if queued and queued.state.state in (QueuedState.ACTIVE, QueuedState.PROVISIONING):
            name = queued.name
            self._lives.start(name, lambda: self._lives.suspend(name, Initiator.USER))
        return operation

    def stop_node(self, request: api.StopNodeRequest, version: str) -> Operation:
        """Begin to stop a node; one that a queued resource has cannot be stopped."""
        node = self._state.node(request.name)
        _check_state(node, NodeState.READY, "stop")
        if node.queued_resource:
            raise refused(f"stop is not supported for a node of queued resource of '{node.name}'")
        operation = self._state.operation(version, "stop", node.name)
        self._state.set_node(node, NodeState.STOPPING)
        self._lives.start(node.name, lambda: self._lives.stop_node(node.name, operation))
        return operation

    def start_node(self, request: api.StartNodeRequest, version: str) -> Operation:
        """Begin to start a stopped node."""
        node = self._state.node(request.name)
        _check_state(node, NodeState.STOPPED, "start")
        operation = self._state.operation(version, "start", node.name)
        self._state.set_node(node, NodeState.STARTING)
        self._lives.start(node.name, lambda: self._lives.start_node(node.name, operation))
        return operation

    def update_node(self, request: api.UpdateNodeRequest, version: str) -> Operation:
        """Change what may be changed of a node."""
        node = self._state.node(request.node.name)
        if node.state != NodeState.READY:
            raise invalid(f"update is not supported while in state {node.state.name}")
        paths = list(request.update_mask.paths)
        if not paths or not rules.CHANGEABLE.issuperset(paths):
            raise invalid(f"Invalid update_mask {paths}: it may name {sorted(rules.CHANGEABLE)}")
        rules.check_labels(request.node.labels)
        for path in paths:
            setattr(node, path, getattr(request.node, path))
        operation = self._state.operation(version, "update", node.name)
        self._lives.tell_hosts(node, operation)
        return operation

    def get_guest_attributes(
        self, request: api.GetGuestAttributesRequest, _version: str
    ) -> api.GetGuestAttributesResponse:
        """Give what the hosts say of themselves: their host keys."""
        node = self._state.node(request.name)
        asked = request.query_path
        # gcloud asks for the worker with an empty id when it means all.
        wanted = {worker for worker in request.worker_ids if worker}
        attributes = []
        for machine in self._state.machines.get(node.name, ()):
            if wanted and str(machine.index) not in wanted:
                continue
            entries = [
                api.GuestAttributesEntry(namespace="hostkeys", key=kind, value=key)
                for kind, _, key in (text.partition(" ") for text in machine.host_keys)
                if f"hostkeys/{kind}".startswith(asked)
            ]
            value = api.GuestAttributesValue(items=entries)
            attributes.append(api.GuestAttributes(query_path=asked, query_value=value))
        return api.GetGuestAttributesResponse(guest_attributes=attributes)

    def simulate_maintenance_event(
        self, request: api.SimulateMaintenanceEventRequest, version: str
    ) -> Operation:
        """Let a node be under maintenance."""
        node = self._state.node(request.name)
        operation = self._state.operation(version, "simulateMaintenanceEvent", node.name)
        self.maintenance(node)
        operation.finish(node)
        return operation

    def maintenance(self, node: api.Node, *, ongoing: bool = True) -> None:
        """Let a node say that maintenance comes, or goes on: then it is not healthy."""
        status = api.UpcomingMaintenance.MaintenanceStatus
        start = self._state.now()
        node.upcoming_maintenance = api.UpcomingMaintenance(
            type_=api.UpcomingMaintenance.MaintenanceType.UNSCHEDULED,
            can_reschedule=False,
            window_start_time=f"{start:%Y-%m-%dT%H:%M:%SZ}",
            maintenance_status=status.ONGOING if ongoing else status.PENDING,
        )
        if ongoing:
            node.health = api.Node.Health.UNHEALTHY_MAINTENANCE
            node.health_description = "The TPU is under maintenance."

    @staticmethod
    def end_maintenance(node: api.Node) -> None:
        """Let a node be healthy again."""
        del node.upcoming_maintenance
        node.health = api.Node.Health.HEALTHY
        node.health_description = ""


def check_free(state: State, name: str) -> None:
    """Let the name of a new node pass, or not.

    Raises:
        ApiError: there is a node of that name, or it has not gone yet.
    """
    if standing := state.nodes.get(name):
        raise busy(name) if standing.state == NodeState.DELETING else exists(name)


def _check_state(node: api.Node, state: api.Node.State, verb: str) -> None:
    if node.state != state:
        raise invalid(f"{verb} is not supported while in state {node.state.name}")
