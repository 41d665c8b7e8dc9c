"""The methods that tell what there is to be had, and what became of what was asked."""

from google.cloud.location import locations_pb2
from google.cloud.tpu_v2alpha1.types import cloud_tpu as api
from google.longrunning import operations_pb2
from google.protobuf import empty_pb2

from jobman_emulator.catalog import RUNTIMES, ZONES, Kind, kinds_of, region_of
from jobman_emulator.errors import not_found, refused
from jobman_emulator.paging import page
from jobman_emulator.rules import PROJECT_NUMBER
from jobman_emulator.state import Operation, State, below, place_of


class Offers:
    """The methods on zones, and on what they have."""

    def list_accelerator_types(
        self, request: api.ListAcceleratorTypesRequest, _version: str
    ) -> api.ListAcceleratorTypesResponse:
        """List the types of a zone."""
        kinds = {kind.type: kind for kind in kinds_of(place_of(request.parent)[1])}
        names, token = page(sorted(kinds), request)
        types = [_type_of(request.parent, kinds[name]) for name in names]
        return api.ListAcceleratorTypesResponse(accelerator_types=types, next_page_token=token)

    def get_accelerator_type(
        self, request: api.GetAcceleratorTypeRequest, _version: str
    ) -> api.AcceleratorType:
        """Describe a type."""
        parent, _, name = request.name.rpartition("/acceleratorTypes/")
        for kind in kinds_of(place_of(request.name)[1]):
            if kind.type == name:
                return _type_of(parent, kind)
        raise not_found(request.name)

    def list_runtime_versions(
        self, request: api.ListRuntimeVersionsRequest, _version: str
    ) -> api.ListRuntimeVersionsResponse:
        """List the runtimes."""
        place_of(request.parent)
        names, token = page(sorted(RUNTIMES), request)
        runtimes = [_runtime_of(request.parent, name) for name in names]
        return api.ListRuntimeVersionsResponse(runtime_versions=runtimes, next_page_token=token)

    def get_runtime_version(
        self, request: api.GetRuntimeVersionRequest, _version: str
    ) -> api.RuntimeVersion:
        """Describe a runtime."""
        parent, _, name = request.name.rpartition("/runtimeVersions/")
        place_of(request.name)
        if name not in RUNTIMES:
            raise not_found(request.name)
        return _runtime_of(parent, name)

    def generate_service_identity(
        self, request: api.GenerateServiceIdentityRequest, _version: str
    ) -> api.GenerateServiceIdentityResponse:
        """Give the account that the service itself acts as."""
        place_of(request.parent)
        email = f"service-{PROJECT_NUMBER}@cloud-tpu.iam.gserviceaccount.com"
        return api.GenerateServiceIdentityResponse(identity=api.ServiceIdentity(email=email))

    def list_locations(
        self, request: locations_pb2.ListLocationsRequest, _version: str
    ) -> locations_pb2.ListLocationsResponse:
        """List the zones."""
        names, token = page(sorted(ZONES), request)
        places = [_location(f"{request.name}/locations/{zone}") for zone in names]
        return locations_pb2.ListLocationsResponse(locations=places, next_page_token=token)

    def get_location(
        self, request: locations_pb2.GetLocationRequest, _version: str
    ) -> locations_pb2.Location:
        """Describe a zone."""
        place_of(request.name)
        return _location(request.name)


class Operations:
    """The methods on operations."""

    def __init__(self, state: State) -> None:
        """Serve one state."""
        self._state = state

    def get_operation(
        self, request: operations_pb2.GetOperationRequest, _version: str
    ) -> Operation:
        """Describe an operation."""
        return self._found(request.name)

    def list_operations(
        self, request: operations_pb2.ListOperationsRequest, _version: str
    ) -> operations_pb2.ListOperationsResponse:
        """List the operations of a zone."""
        names, token = page(below(request.name, self._state.operations), request)
        shown = [self._state.operations[name].message() for name in names]
        return operations_pb2.ListOperationsResponse(operations=shown, next_page_token=token)

    def cancel_operation(
        self, request: operations_pb2.CancelOperationRequest, _version: str
    ) -> empty_pb2.Empty:
        """Note that somebody would like an operation to end: it goes on all the same."""
        self._found(request.name).cancel_requested = True
        return empty_pb2.Empty()

    def delete_operation(
        self, request: operations_pb2.DeleteOperationRequest, _version: str
    ) -> empty_pb2.Empty:
        """Forget an operation that has ended."""
        if self._found(request.name).ended is None:
            raise refused(f"Operation '{request.name}' has not ended")
        del self._state.operations[request.name]
        return empty_pb2.Empty()

    def _found(self, name: str) -> Operation:
        if name not in self._state.operations:
            raise not_found(name)
        return self._state.operations[name]


def _type_of(parent: str, kind: Kind) -> api.AcceleratorType:
    config = api.AcceleratorConfig(
        type_=api.AcceleratorConfig.Type[kind.generation], topology=kind.topology
    )
    return api.AcceleratorType(
        name=f"{parent}/acceleratorTypes/{kind.type}", type_=kind.type, accelerator_configs=[config]
    )


def _runtime_of(parent: str, version: str) -> api.RuntimeVersion:
    return api.RuntimeVersion(name=f"{parent}/runtimeVersions/{version}", version=version)


def _location(name: str) -> locations_pb2.Location:
    zone = name.rpartition("/")[2]
    labels = {"cloud.googleapis.com/region": region_of(zone)}
    return locations_pb2.Location(name=name, location_id=zone, labels=labels)
