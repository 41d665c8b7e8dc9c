"""The methods on queued resources."""

from typing import Final

from google.cloud.tpu_v2alpha1.types import cloud_tpu as api

from jobman_emulator import rules
from jobman_emulator.errors import busy, exists, invalid, refused
from jobman_emulator.limits import wants_of
from jobman_emulator.lives import Lives
from jobman_emulator.nodes import check_free
from jobman_emulator.paging import page
from jobman_emulator.queueing import ids_of
from jobman_emulator.state import Initiator, Operation, QueuedState, State, below, place_of

#: A queued resource of these states has nothing that could be lost.
_DELETABLE: Final = frozenset({QueuedState.ACCEPTED, QueuedState.FAILED, QueuedState.SUSPENDED})


class QueuedResources:
    """The methods on queued resources."""

    def __init__(self, state: State, lives: Lives) -> None:
        """Serve one state."""
        self._state = state
        self._lives = lives

    def list_queued_resources(
        self, request: api.ListQueuedResourcesRequest, _version: str
    ) -> api.ListQueuedResourcesResponse:
        """List the queued resources of a zone, or of all (``-``)."""
        names, token = page(below(request.parent, self._state.queued), request)
        queued = [self._state.queued[name] for name in names]
        return api.ListQueuedResourcesResponse(queued_resources=queued, next_page_token=token)

    def get_queued_resource(
        self, request: api.GetQueuedResourceRequest, _version: str
    ) -> api.QueuedResource:
        """Describe a queued resource."""
        return self._state.queued_resource(request.name)

    def create_queued_resource(
        self, request: api.CreateQueuedResourceRequest, version: str
    ) -> Operation:
        """Begin a queued resource."""
        place_of(request.parent)
        rules.check_id("queued_resource_id", request.queued_resource_id)
        queued = api.QueuedResource(request.queued_resource)
        queued.name = f"{request.parent}/queuedResources/{request.queued_resource_id}"
        self._complete(queued)
        if standing := self._state.queued.get(queued.name):
            deleting = standing.state.state == QueuedState.DELETING
            raise busy(queued.name) if deleting else exists(queued.name)
        self._lives.limits.check_quota(wants_of(queued), queued=True)
        queued.create_time = self._state.now()
        self._state.queued[queued.name] = queued
        self._state.set_queued(queued, QueuedState.CREATING, Initiator.USER)
        operation = self._state.operation(version, "create", queued.name)
        operation.stuck = self._lives.faults.takes("stuck-create")
        self._lives.start(queued.name, lambda: self._lives.allocate(queued.name, operation))
        return operation

    def delete_queued_resource(
        self, request: api.DeleteQueuedResourceRequest, version: str
    ) -> Operation:
        """Begin the end of a queued resource, of its nodes too where that is forced."""
        queued = self._state.queued_resource(request.name)
        state = queued.state.state
        if state == QueuedState.DELETING:
            raise busy(queued.name)
        nodes = self._state.nodes_of(queued.name)
        if nodes and state not in _DELETABLE and not request.force:
            raise refused(
                f"Queued resource '{queued.name}' is in state {state.name} and has nodes: delete "
                "them first, or use force"
            )
        if state == QueuedState.SUSPENDING:
            raise refused(f"Queued resource '{queued.name}' is in state SUSPENDING")
        for name in (queued.name, *(node.name for node in nodes)):
            self._state.abandon(name)
        operation = self._state.operation(version, "delete", queued.name)
        operation.stuck = self._lives.faults.takes("stuck-delete")
        if self._lives.faults.takes("instant-delete"):
            self._state.queued.pop(queued.name)
        self._state.set_queued(queued, QueuedState.DELETING, Initiator.USER)
        self._lives.start(queued.name, lambda: self._lives.delete_queued(queued.name, operation))
        return operation

    def _complete(self, queued: api.QueuedResource) -> None:
        if not queued.tpu.node_spec:
            raise invalid("Invalid queued_resource: tpu.node_spec is required")
        for spec in queued.tpu.node_spec:
            ids = ids_of(spec)
            for node_id in ids:
                rules.check_id("node_id", node_id)
                check_free(self._state, f"{spec.parent}/nodes/{node_id}")
            spec.node.scheduling_config = _scheduling(queued, spec.node.scheduling_config)
            rules.complete(spec.node, spec.parent)


def _scheduling(queued: api.QueuedResource, given: api.SchedulingConfig) -> api.SchedulingConfig:
    """Say of a node what its queued resource says of all."""
    return api.SchedulingConfig(
        preemptible=given.preemptible or "best_effort" in queued,
        reserved=given.reserved or queued.guaranteed.reserved or bool(queued.reservation_name),
        spot=given.spot or "spot" in queued,
    )
