"""Every method of the API, once for both doors. Source: the http rules of google/cloud/tpu."""

import re
from typing import Any, Final

import attrs
import proto
from google.cloud.location import locations_pb2
from google.longrunning import operations_pb2
from google.protobuf import empty_pb2

from jobman_emulator.messages import VERSIONS

_PARENT: Final = "projects/*/locations/*"
_NODE: Final = f"{_PARENT}/nodes/*"
_QUEUED: Final = f"{_PARENT}/queuedResources/*"
_OPERATION: Final = f"{_PARENT}/operations/*"
#: A segment of a path.
_SEGMENT: Final = "[^/:]+"


@attrs.frozen
class Call:
    """One method."""

    #: As gRPC has it, like ``CreateNode``.
    name: str
    #: Of HTTP.
    verb: str
    #: Like ``{parent=projects/*/locations/*}/nodes``, without the version.
    path: str
    #: What the answer's message is called.
    answer: str
    #: The request's field that is the body; ``*``: all of it; None: there is no body.
    body: str | None = None
    #: The service that gRPC finds it in; None: the version's own.
    service: str | None = None

    @property
    def pattern(self) -> re.Pattern[str]:
        """Give what a path has to look like, with a group for each field that is in it."""
        match = re.fullmatch(r"(.*)\{(.+)=(.+)\}(.*)", self.path)
        assert match, self.path  # noqa: S101 - all paths are below
        before, field, inside, after = match.groups()
        inside = inside.replace("*", _SEGMENT)
        return re.compile(f"{before}(?P<{field.replace('.', '__')}>{inside}){after}")

    def request_type(self, version: str) -> Any:  # noqa: ANN401 - proto-plus, or plain protobuf
        """Give the type of its request."""
        return _PLAIN[self.name][0] if self.service else VERSIONS[version][f"{self.name}Request"]


def is_plus(kind: type) -> bool:
    """Tell whether a message type is one of proto-plus."""
    return issubclass(kind, proto.Message)


_OPERATIONS: Final = "google.longrunning.Operations"
_LOCATIONS: Final = "google.cloud.location.Locations"
#: The methods that all of Google's APIs share: request and answer.
_PLAIN: Final[dict[str, tuple[type, type]]] = {
    "GetOperation": (operations_pb2.GetOperationRequest, operations_pb2.Operation),
    "ListOperations": (
        operations_pb2.ListOperationsRequest,
        operations_pb2.ListOperationsResponse,
    ),
    "CancelOperation": (operations_pb2.CancelOperationRequest, empty_pb2.Empty),
    "DeleteOperation": (operations_pb2.DeleteOperationRequest, empty_pb2.Empty),
    "GetLocation": (locations_pb2.GetLocationRequest, locations_pb2.Location),
    "ListLocations": (locations_pb2.ListLocationsRequest, locations_pb2.ListLocationsResponse),
}


def _listing(plural: str, path: str) -> Call:
    return Call(f"List{plural}", "GET", f"{{parent={_PARENT}}}/{path}", f"List{plural}Response")


CALLS: Final = (
    _listing("Nodes", "nodes"),
    Call("GetNode", "GET", f"{{name={_NODE}}}", "Node"),
    Call("CreateNode", "POST", f"{{parent={_PARENT}}}/nodes", "Operation", "node"),
    Call("DeleteNode", "DELETE", f"{{name={_NODE}}}", "Operation"),
    Call("StopNode", "POST", f"{{name={_NODE}}}:stop", "Operation", "*"),
    Call("StartNode", "POST", f"{{name={_NODE}}}:start", "Operation", "*"),
    Call("UpdateNode", "PATCH", f"{{node.name={_NODE}}}", "Operation", "node"),
    Call(
        *("GetGuestAttributes", "POST", f"{{name={_NODE}}}:getGuestAttributes"),
        *("GetGuestAttributesResponse", "*"),
    ),
    Call(
        *("SimulateMaintenanceEvent", "POST", f"{{name={_NODE}}}:simulateMaintenanceEvent"),
        *("Operation", "*"),
    ),
    _listing("QueuedResources", "queuedResources"),
    Call("GetQueuedResource", "GET", f"{{name={_QUEUED}}}", "QueuedResource"),
    Call(
        *("CreateQueuedResource", "POST", f"{{parent={_PARENT}}}/queuedResources"),
        *("Operation", "queued_resource"),
    ),
    Call("DeleteQueuedResource", "DELETE", f"{{name={_QUEUED}}}", "Operation"),
    Call("ResetQueuedResource", "POST", f"{{name={_QUEUED}}}:reset", "Operation", "*"),
    _listing("AcceleratorTypes", "acceleratorTypes"),
    Call("GetAcceleratorType", "GET", f"{{name={_PARENT}/acceleratorTypes/*}}", "AcceleratorType"),
    _listing("RuntimeVersions", "runtimeVersions"),
    Call("GetRuntimeVersion", "GET", f"{{name={_PARENT}/runtimeVersions/*}}", "RuntimeVersion"),
    Call(
        *("GenerateServiceIdentity", "POST", f"{{parent={_PARENT}}}:generateServiceIdentity"),
        *("GenerateServiceIdentityResponse", "*"),
    ),
    Call("GetOperation", "GET", f"{{name={_OPERATION}}}", "Operation", service=_OPERATIONS),
    Call(
        *("ListOperations", "GET", f"{{name={_PARENT}}}/operations", "ListOperationsResponse"),
        service=_OPERATIONS,
    ),
    Call("CancelOperation", "POST", f"{{name={_OPERATION}}}:cancel", "Empty", service=_OPERATIONS),
    Call("DeleteOperation", "DELETE", f"{{name={_OPERATION}}}", "Empty", service=_OPERATIONS),
    Call("GetLocation", "GET", f"{{name={_PARENT}}}", "Location", service=_LOCATIONS),
    Call(
        *("ListLocations", "GET", "{name=projects/*}/locations", "ListLocationsResponse"),
        service=_LOCATIONS,
    ),
)
