"""The Service Usage API: which APIs are enabled. Source: google/api/serviceusage/v1."""

from collections.abc import Callable
from typing import Final

from google.cloud.service_usage_v1 import types

from jobman_emulator.apis.account import SERVICES, Account
from jobman_emulator.apis.rpc import Rpc
from jobman_emulator.errors import invalid, not_found
from jobman_emulator.paging import page
from jobman_emulator.rules import PROJECT_NUMBER

_SERVICE: Final = "google.api.serviceusage.v1.ServiceUsage"
_API: Final = "serviceusage.googleapis.com"
_LIST: Final = "serviceusage.services.list"
_GET: Final = "serviceusage.services.get"
RPCS: Final = (
    Rpc(_API, "ListServices", _LIST, _SERVICE, types.ListServicesRequest),
    Rpc(_API, "GetService", _GET, _SERVICE, types.GetServiceRequest),
    Rpc(_API, "BatchGetServices", _GET, _SERVICE, types.BatchGetServicesRequest),
)
_State: Final = types.State
#: Filter: the APIs that it leaves, of those that are not enabled.
_FILTERS: Final[dict[str, Callable[[set[str]], set[str]]]] = {
    "": lambda _disabled: set(SERVICES),
    "state:ENABLED": lambda disabled: set(SERVICES) - disabled,
    "state:DISABLED": set,
}


class Services:
    """The methods on services."""

    def __init__(self, account: Account) -> None:
        """Tell what a project has enabled."""
        self._account = account

    def list_services(
        self, request: types.ListServicesRequest, _version: str
    ) -> types.ListServicesResponse:
        """List the services, all or those of one state (``state:ENABLED``)."""
        apis = _FILTERS.get(request.filter)
        if apis is None:
            raise invalid(f"Invalid filter '{request.filter}'")
        names, token = page(sorted(apis(self._account.disabled)), request)
        shown = [self._service(name) for name in names]
        return types.ListServicesResponse(services=shown, next_page_token=token)

    def get_service(self, request: types.GetServiceRequest, _version: str) -> types.Service:
        """Describe one."""
        return self._named(request.name)

    def batch_get_services(
        self, request: types.BatchGetServicesRequest, _version: str
    ) -> types.BatchGetServicesResponse:
        """Describe some."""
        services = [self._named(name) for name in request.names]
        return types.BatchGetServicesResponse(services=services)

    def _named(self, name: str) -> types.Service:
        api = name.rpartition("/services/")[2]
        if api not in SERVICES:
            raise not_found(name)
        return self._service(api)

    def _service(self, api: str) -> types.Service:
        parent = f"projects/{PROJECT_NUMBER}"
        return types.Service(
            name=f"{parent}/services/{api}",
            parent=parent,
            config=types.ServiceConfig(name=api, title=SERVICES[api]),
            state=_State.DISABLED if api in self._account.disabled else _State.ENABLED,
        )
