"""The Cloud TPU API, as far as jobman uses it.

Nodes are read through v2alpha1, which alone tells of maintenance to come; the rest is v2.
"""

import asyncio
import contextlib
import os
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from jobman_gcp.account import EMULATOR
from jobman_gcp.errors import ApiError, Code, Failure
from jobman_gcp.facts import (
    OperationFacts,
    last,
    node_facts,
    operation_facts,
    queued_facts,
)
from jobman_gcp.requests import Ask, parent_of
from jobman_gcp.states import NodeFacts, QueuedFacts

if TYPE_CHECKING:
    import grpc.aio

#: Seconds that one call may take; an action of the core has sixty for all of its calls.
CALL_LIMIT: Final = 15.0
_HOST_KEYS: Final = "hostkeys"
#: What gRPC says of a server that is not there: an address, then what the connection came to.
_UNREACHED: Final = re.compile(
    r"failed to connect to all addresses; last error: \w+: (?:ipv[46]:)?(\S+?): "
    r".*: ([^:]+?)(?: \(\d+\))?$"
)

_T = TypeVar("_T")
_Facts = TypeVar("_Facts", NodeFacts, QueuedFacts)
_Create = Callable[..., Awaitable[Any]]


class Client:
    """Calls the API; one loop's. Each method raises ApiError where a call came to nothing."""

    def __init__(self, channel: "grpc.aio.Channel", *, page: int = 500) -> None:
        """Make Google's clients on a channel; nothing is sent yet.

        Args:
            channel: of the running loop; closed with this.
            page: how many things of a list are asked for at once.
        """
        from google.cloud import tpu_v2, tpu_v2alpha1
        from google.cloud.tpu_v2.services.tpu.transports import TpuGrpcAsyncIOTransport
        from google.cloud.tpu_v2alpha1.services.tpu.transports import (
            TpuGrpcAsyncIOTransport as AlphaTransport,
        )

        self._channel = channel
        self._page = page
        self._v2 = tpu_v2.TpuAsyncClient(transport=TpuGrpcAsyncIOTransport(channel=channel))
        self._alpha = tpu_v2alpha1.TpuAsyncClient(transport=AlphaTransport(channel=channel))

    @staticmethod
    def load() -> None:
        """Import what a client is made of."""
        # gRPC would write to standard error by itself what each call tells its caller as well.
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
        # Google's client over REST is not used. It would bring aiohttp where that happens to be
        # installed: a third of a second and 8 MB, of every controller.
        with _left_out("aiohttp"):
            from google.cloud import tpu_v2, tpu_v2alpha1  # noqa: F401 - for the next to ask for it

    async def aclose(self) -> None:
        """Hang up."""
        await self._channel.close()

    async def node(self, project: str, zone: str, name: str) -> NodeFacts | None:
        """Look at a node; None: the API says that there is none."""
        full = f"{parent_of(project, zone)}/nodes/{name}"
        found = await _or_none(call(self._alpha.get_node, {"name": full}))
        return None if found is None else _about(name, node_facts(found))

    async def queued(self, project: str, zone: str, name: str) -> QueuedFacts | None:
        """Look at a queued resource; None: the API says that there is none."""
        full = f"{parent_of(project, zone)}/queuedResources/{name}"
        found = await _or_none(call(self._v2.get_queued_resource, {"name": full}))
        return None if found is None else _about(name, queued_facts(found))

    async def nodes(self, project: str, zone: str) -> Sequence[NodeFacts]:
        """List all nodes of a zone."""
        request = {"parent": parent_of(project, zone), "page_size": self._page}
        pages = _pages(self._alpha.list_nodes, request)
        return [node_facts(node) async for page in pages for node in page.nodes]

    async def all_queued(self, project: str, zone: str) -> Sequence[QueuedFacts]:
        """List all queued resources of a zone."""
        request = {"parent": parent_of(project, zone), "page_size": self._page}
        pages = _pages(self._v2.list_queued_resources, request)
        return [queued_facts(each) async for page in pages for each in page.queued_resources]

    async def create(self, ask: Ask) -> OperationFacts:
        """Ask for a node or a queued resource; give the operation that makes it."""
        client = self._alpha if ask.alpha else self._v2
        kind = "queued_resource" if ask.queued else "node"
        create: _Create = client.create_queued_resource if ask.queued else client.create_node
        request = {"parent": ask.parent, f"{kind}_id": ask.name, kind: dict(ask.body)}
        return _operation((await call(create, request)).operation)

    async def delete_node(self, project: str, zone: str, name: str) -> None:
        """Ask for the end of a node; one that is not there is no error."""
        full = f"{parent_of(project, zone)}/nodes/{name}"
        await _or_none(call(self._v2.delete_node, {"name": full}))

    async def delete_queued(self, project: str, zone: str, name: str, *, force: bool) -> None:
        """Ask for the end of a queued resource; one that is not there is no error.

        Args:
            project: whose.
            zone: where.
            name: of the queued resource.
            force: its nodes go with it.
        """
        full = f"{parent_of(project, zone)}/queuedResources/{name}"
        request = {"name": full, "force": force}
        await _or_none(call(self._v2.delete_queued_resource, request))

    async def zones(self, project: str) -> Sequence[str]:
        """List the zones in which a project can ask for nodes."""
        found: list[str] = []
        token = ""
        while True:
            request = {
                "name": f"projects/{project}",
                "page_size": self._page,
                "page_token": token,
            }
            page = await call(self._v2.list_locations, request)
            found += [each.location_id for each in page.locations]
            token = page.next_page_token
            if not token:
                return found

    async def offers(
        self, project: str, zone: str, accelerator: str, runtime: str
    ) -> tuple[bool, bool]:
        """Tell whether a zone has a type, and a runtime version."""
        parent = parent_of(project, zone)
        type_ = {"name": f"{parent}/acceleratorTypes/{accelerator}"}
        version = {"name": f"{parent}/runtimeVersions/{runtime}"}
        found = await asyncio.gather(
            _or_none(call(self._v2.get_accelerator_type, type_)),
            _or_none(call(self._v2.get_runtime_version, version)),
        )
        return found[0] is not None, found[1] is not None

    async def operation(self, name: str) -> OperationFacts:
        """Look at an operation."""
        return _operation(await call(self._v2.get_operation, {"name": name}))

    async def newest_operation(self, project: str, zone: str, name: str) -> OperationFacts | None:
        """Give the operation that was begun last on a node or queued resource of this name."""
        newest, token = None, ""
        while True:
            request = {
                "name": parent_of(project, zone),
                "page_size": self._page,
                "page_token": token,
            }
            page = await call(self._v2.list_operations, request)
            for each in map(_operation, page.operations):
                if last(each.target) == name and (newest is None or newest.began <= each.began):
                    newest = each
            token = page.next_page_token
            if not token:
                return newest

    async def host_keys(self, project: str, zone: str, name: str) -> Mapping[int, Sequence[str]]:
        """Give the public host keys that hosts have written into their guest attributes."""
        # As gcloud asks: for all that all hosts tell, in the order of the hosts.
        request = {"name": f"{parent_of(project, zone)}/nodes/{name}"}
        answer = await call(self._v2.get_guest_attributes, request)
        return {
            index: [
                f"{item.key} {item.value}"
                for item in attributes.query_value.items
                if item.namespace == _HOST_KEYS
            ]
            for index, attributes in enumerate(answer.guest_attributes)
        }


async def call(method: Callable[..., Awaitable[_T]], request: Mapping[str, Any]) -> _T:
    """Make one call, once: whoever asked knows best when to ask again."""
    from google.api_core.exceptions import GoogleAPICallError
    from google.auth.exceptions import GoogleAuthError

    try:
        async with asyncio.timeout(CALL_LIMIT):
            answer = await method(request, retry=None, timeout=CALL_LIMIT)
    except GoogleAPICallError as error:
        raise ApiError(_failure(error)) from error
    except GoogleAuthError as error:
        raise ApiError(Failure(Code.UNAUTHENTICATED, str(error))) from error
    except AttributeError as error:
        # Google's own code looks into an operation that gRPC has made None.
        raise _not_the_api("no message") from error
    except ValueError as error:
        raise ApiError(Failure(Code.INVALID_ARGUMENT, f"it cannot be sent: {error}")) from error
    except TimeoutError as error:
        text = f"no answer within {CALL_LIMIT:g} s"
        raise ApiError(Failure(Code.DEADLINE_EXCEEDED, text)) from error
    return _message(answer)


def _message(answer: _T | None) -> _T:
    """Take a message for an answer: of bytes that are none, gRPC makes None."""
    if answer is None:
        raise _not_the_api("no message")
    return answer


def _about(name: str, facts: _Facts) -> _Facts:
    """Take what was asked for for an answer, and nothing else: it may say that all is gone."""
    if facts.name != name:
        raise _not_the_api(f"{facts.name!r} when asked for {name!r}")
    return facts


def _operation(operation: Any) -> OperationFacts:  # noqa: ANN401 - protobuf has no types
    from google.protobuf.message import DecodeError

    try:
        return operation_facts(_message(operation))
    except DecodeError as error:
        raise _not_the_api("an operation without a meaning") from error


def _not_the_api(what: str) -> ApiError:
    text = f"what answers is not the Cloud TPU API, it says {what}"
    return ApiError(Failure(Code.UNKNOWN, text))


async def _or_none(call: Awaitable[_T]) -> _T | None:
    """Take "there is none" for an answer."""
    try:
        return await call
    except ApiError as error:
        if error.code == Code.NOT_FOUND:
            return None
        raise


async def _pages(
    method: Callable[..., Awaitable[Any]], request: dict[str, Any]
) -> AsyncIterator[Any]:
    """Give all pages of a list, or fail: half a list would say of the rest that it is gone."""
    token = ""
    while True:
        pager = await call(method, {**request, "page_token": token})
        # Of the pager, the page that was asked for: each page is a call of its own, in time.
        page = _message(await anext(aiter(pager.pages)))
        if page.unreachable:
            places = ", ".join(page.unreachable)
            raise ApiError(Failure(Code.UNAVAILABLE, f"the API does not reach {places}"))
        yield page
        token = page.next_page_token
        if not token:
            return


def _failure(error: Any) -> Failure:  # noqa: ANN401 - GoogleAPICallError is imported late
    status = error.grpc_status_code
    code = status.value[0] if status is not None else Code.UNKNOWN
    return Failure(code, _plainly(error.message or ""))


def _plainly(text: str) -> str:
    """Say in gRPC's place that nothing answers, and where."""
    unreached = _UNREACHED.search(text)
    if unreached is None:
        return text
    who = f", which {EMULATOR} names" if os.environ.get(EMULATOR) else ""
    return f"nothing answers at {unreached[1]}{who} ({unreached[2]})"


@contextlib.contextmanager
def _left_out(module: str) -> Iterator[None]:
    """Let a module that nobody has loaded yet look like one that is not installed."""
    if module in sys.modules:
        yield
        return
    sys.modules[module] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[module]
