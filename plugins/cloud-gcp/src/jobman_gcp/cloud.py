"""The cloud called ``gcp``: slices of Google Cloud TPU."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import ClassVar, Final

import attrs

from jobman_core.errors import CloudError, HeldError, PermanentCloudError, TransientCloudError
from jobman_core.interfaces.backend import Context, Problem, Scope
from jobman_core.interfaces.cloud import Cloud, Listed
from jobman_core.models.billing import Charges, Lacking
from jobman_core.models.checkup import Checkup
from jobman_core.models.quota import Allowances
from jobman_core.models.slice import (
    Absent,
    Observation,
    Present,
    Slice,
    SliceIdentity,
    SlicePhase,
    SliceRequest,
    Unknown,
)
from jobman_core.process import in_daemon
from jobman_gcp import billing, billing_setup, limits, requests
from jobman_gcp.account import named_project
from jobman_gcp.client import CALL_LIMIT, Client
from jobman_gcp.config import GcpConfig, GcpSettings
from jobman_gcp.connection import Connection
from jobman_gcp.errors import ApiError, Code, Failure, refusal, trouble
from jobman_gcp.facts import OperationFacts
from jobman_gcp.flags import WrongFlagError
from jobman_gcp.listing import listing, node_slice, queued_slice, surely
from jobman_gcp.names import is_of, labels_of, our_labels, wrong_name
from jobman_gcp.preview import preview
from jobman_gcp.requests import Ask
from jobman_gcp.states import NodeFacts, QueuedFacts, judge

#: Seconds that a create waits for its operation: errors come in it, and most of them soon.
SETTLE: Final = 3.0
_FIRST_LOOK: Final = 0.1
#: What a dry run calls a project that it does not know.
_NO_PROJECT: Final = "PROJECT"
#: States of a queued resource that it does not leave any more: its delete needs no force.
_AT_REST: Final = frozenset({"FAILED", "SUSPENDED"})
#: States in which it, or a node, is deleted already or has to be left to itself.
_LEAVE: Final = frozenset({"DELETING", "SUSPENDING", "STOPPING"})
#: What the API answers about things that are not offered, rather than out of order.
_NOT_OFFERED: Final = frozenset(
    {
        Code.FAILED_PRECONDITION,
        Code.INVALID_ARGUMENT,
        Code.NOT_FOUND,
        Code.PERMISSION_DENIED,
        Code.UNIMPLEMENTED,
    }
)


@attrs.define
class _Trace:
    """What this process remembers of a name, so that what was is not taken for what comes."""

    #: Something by this name was seen.
    seen: bool = False
    #: The operation that a request came to nothing with.
    failed: str = ""
    #: The same, of a request before the newest.
    old: str = ""

    def asked(self) -> None:
        """Know that a new request is sent."""
        self.seen, self.old, self.failed = False, self.failed or self.old, ""


class GcpCloud(Cloud):
    """Cloud TPU nodes, asked for directly or through queued resources.

    A slice's node, and its queued resource where it has one, are called the same.
    """

    name = "gcp"
    Config = GcpConfig
    Settings = GcpSettings
    #: All slices of a zone are seen in one list.
    looks_by_zone: ClassVar[bool] = True
    bills: ClassVar[bool] = True
    #: Longer than a call may take.
    on_the_wire: ClassVar[float] = CALL_LIMIT + 5.0

    def __init__(self, context: Context) -> None:
        """Take the settings; nothing is connected yet."""
        super().__init__(context)
        self._settings = GcpSettings(**context.settings)
        self._connection = Connection(self._settings.project)
        #: By project, zone and name.
        self._traces: dict[tuple[str, str, str], _Trace] = defaultdict(_Trace)

    # -- what is asked for -----------------------------------------------------------------

    def check(self, request: SliceRequest) -> Iterable[Problem]:
        """Say what of ``tpu.flags`` cannot be followed."""
        return requests.problems(request)

    async def project_of(self, request: SliceRequest) -> str:
        """Give the project that pays for a slice; empty where :meth:`create` has to refuse."""
        try:
            return self._named_project(request) or await self._connection.project()
        except PermanentCloudError:
            return ""

    async def describe_request(
        self, identity: SliceIdentity, request: SliceRequest
    ) -> Sequence[str]:
        """Show the request as it is sent, but for what may be secret."""
        lines = [*await super().describe_request(identity, request)]
        try:
            project = self._named_project(request) or await self._connection.project()
        except PermanentCloudError as error:
            project = _NO_PROJECT
            lines.append(f"{project} stands for one that is not known: {error}")
        ask = requests.build(request, identity.name, project, labels_of(identity))
        return [*lines, *await asyncio.to_thread(preview, ask)]

    # -- what exists -----------------------------------------------------------------------

    async def create(self, identity: SliceIdentity, request: SliceRequest) -> None:
        """Ask for a node or a queued resource.

        Raises:
            StockoutError: no capacity there now; nothing was left behind.
            PermanentCloudError: asking again cannot help.
            TransientCloudError: it may be on its way all the same.
            HeldError: a slice of that name exists with labels that are not ours.
        """
        if wrong := wrong_name(identity.name):
            raise PermanentCloudError(f"{wrong}: choose another tpu.name")
        project = await self._project(identity)
        ask = requests.build(request, identity.name, project, labels_of(identity))
        client = await self._connection.client()
        trace = self._traces[project, identity.zone, identity.name]
        trace.asked()
        try:
            operation = await self._settle(client, await client.create(ask))
            failure = operation.failure
        except ApiError as refused:
            failure = refused.failure
        else:
            trace.failed = operation.name if failure else ""
        if failure is None:
            return
        if failure.code in {Code.ALREADY_EXISTS, Code.ABORTED}:
            await self._adopt(client, project, identity, failure)
            return
        error = refusal(failure, f"{request.accelerator} in {request.zone}")
        if not isinstance(error, TransientCloudError):
            await self._leave_nothing(client, ask, identity, failure)
        raise error

    async def observe(self, identity: SliceIdentity) -> Observation:
        """Look at a slice: its queued resource and its node, and at neither's absence alone."""
        try:
            project = await self._project(identity)
            client = await self._connection.client()
            queued, node = await _look(client, project, identity)
            seen = judge(node, queued, identity.zone)
            if isinstance(seen, Absent):
                return await self._absent(client, project, identity)
        except ApiError as error:
            return Unknown(str(trouble(error.failure, f"no look at slice {identity.name}")))
        except CloudError as error:
            return Unknown(str(error))
        self._traces[project, identity.zone, identity.name].seen = True
        return seen

    async def delete(self, identity: SliceIdentity) -> None:
        """Ask for the end of a slice; called again until a look says absent.

        Raises:
            HeldError: the slice of that name has labels that are not ours.
            PermanentCloudError: the account may not.
            TransientCloudError: not now.
        """
        project = await self._project(identity)
        client = await self._connection.client()
        zone, name = identity.zone, identity.name
        try:
            queued, node = await _look(client, project, identity)
            _check_labels(identity, queued, node)
            if queued is not None:
                if queued.state not in _LEAVE:
                    force = queued.state not in _AT_REST
                    await client.delete_queued(project, zone, name, force=force)
            elif node is not None and node.state not in _LEAVE:
                await client.delete_node(project, zone, name)
        except ApiError as error:
            raise trouble(error.failure, f"slice {name} cannot be deleted") from error

    async def zones(self, project: str = "") -> Sequence[str]:
        """Give the zones that the API offers to a project.

        Raises:
            CloudError: it did not say.
        """
        project = project or await self._connection.project()
        client = await self._connection.client()
        try:
            return await client.zones(project)
        except ApiError as error:
            raise trouble(error.failure, f"no list of zones of project {project}") from error

    async def allowances(self, zones: Sequence[str], project: str = "") -> Allowances:
        """Give the limits that Google tells of: on chips, and on what hosts take of a region.

        Raises:
            PermanentCloudError: there are no credentials, or no project.
        """
        account = await self._connection.account()
        project = project or await self._connection.project()
        return await limits.allowances(account, project, zones)

    async def list_slices(self, zone: str, project: str = "") -> Sequence[Listed]:
        """List the slices of a zone, each with its queued resource; a half list is no list.

        Raises:
            CloudError: the API did not answer.
        """
        project = project or await self._connection.project()
        client = await self._connection.client()
        try:
            # In this order: what is ACTIVE in the first list has its node in the second.
            queued = await client.all_queued(project, zone)
            nodes = await client.nodes(project, zone)
        except ApiError as error:
            raise trouble(error.failure, f"no list of the slices in {zone}") from error
        listed = listing(queued, nodes, zone)
        for each in listed:
            self._traces[project, zone, each.name].seen = True
        return listed

    async def discard(self, listed: Listed, project: str = "") -> None:
        """Ask for the end of a queued resource with its nodes, or of a node that has none.

        Raises:
            HeldError: it is not what was listed any more.
            PermanentCloudError: the account may not.
            TransientCloudError: not now.
        """
        project = project or await self._connection.project()
        client = await self._connection.client()
        zone, name = listed.zone, listed.name
        try:
            queued = await client.queued(project, zone, name)
            if queued is not None and queued.uid == listed.uid:
                nodes = [await client.node(project, zone, each) for each in queued.nodes]
                if listed.check_still(surely(queued_slice(queued, nodes, zone), name)):
                    force = queued.state not in _AT_REST
                    await client.delete_queued(project, zone, name, force=force)
                return
            node = await client.node(project, zone, name)
            if node is not None and listed.check_still(surely(node_slice(node, zone), name)):
                await client.delete_node(project, zone, name)
        except ApiError as error:
            raise trouble(error.failure, f"{name} in {zone} cannot be deleted") from error

    async def host_keys(self, slice_: Slice) -> Mapping[int, Sequence[str]]:
        """Give the host keys that the hosts have told the API, where they have.

        Raises:
            CloudError: the API did not answer.
        """
        identity = slice_.identity
        project = await self._project(identity)
        client = await self._connection.client()
        try:
            keys = await client.host_keys(project, identity.zone, identity.name)
        except ApiError as error:
            if error.code in _NOT_OFFERED:
                return {}
            raise trouble(error.failure, f"no host keys of slice {identity.name}") from error
        if len(keys) != len(slice_.hosts):
            # Whose is whose cannot be told.
            return {}
        return {host.index: keys[host.index] for host in slice_.hosts if keys.get(host.index)}

    async def costs(self, since: datetime, until: datetime, zone: str) -> Charges | Lacking:
        """Read what was charged from the export of Cloud Billing that the settings name.

        Raises:
            InvalidInputError: they name something else.
            CloudError: BigQuery did not answer.
        """
        table = self._settings.billing_table
        if not table:
            return billing_setup.not_named()
        billing.check_name(table)
        ask = billing.Ask(table, since.astimezone(UTC), until.astimezone(UTC), zone)
        account = await billing.who_asks()
        project = self._settings.project or named_project() or account.project
        return await in_daemon(partial(billing.costs, ask, account, project))

    async def checkups(self, scope: Scope) -> Sequence[Checkup]:
        """Say how credentials, projects and what job files name stand with Google."""
        # Only who asks pays for the clients of so many APIs.
        from jobman_gcp.doctor import examine

        return await examine(self._connection, scope, self.context.clock.now)

    async def aclose(self) -> None:
        """Hang up."""
        await self._connection.aclose()

    # -- parts -----------------------------------------------------------------------------

    async def _settle(self, client: Client, operation: OperationFacts) -> OperationFacts:
        """Wait a little for an operation; give it as it is then."""
        nap, left = _FIRST_LOOK, SETTLE
        while not operation.done and left > 0:
            await self.context.clock.sleep(nap)
            left, nap = left - nap, nap * 2
            try:
                operation = await client.operation(operation.name)
            except ApiError:
                # The request was taken on: what becomes of it is for looks to see.
                break
        return operation

    async def _adopt(
        self, client: Client, project: str, identity: SliceIdentity, failure: Failure
    ) -> None:
        """Take what exists under the name for what was asked for, if it is."""
        queued, node = await _surely(client, project, identity)
        state = (queued or node or NodeFacts(identity.name, "gone")).state
        if state in {"gone", "DELETING"}:
            # Whosever it was, it leaves the name free.
            raise TransientCloudError(
                f"slice {identity.name} cannot be asked for yet, what had its name is {state}: "
                f"{failure.text}: it is asked for again"
            )
        _check_labels(identity, queued, node)

    async def _leave_nothing(
        self, client: Client, ask: Ask, identity: SliceIdentity, failure: Failure
    ) -> None:
        """See that what was refused is not there all the same: it would be on nobody's books.

        Raises:
            TransientCloudError: it is, or nobody knows.
        """
        queued, node = await _surely(client, ask.project, identity)
        if queued is not None or node is not None:
            raise TransientCloudError(
                f"slice {identity.name} was refused, and is there all the same: {failure.text}: "
                "it is looked at again"
            )

    async def _absent(self, client: Client, project: str, identity: SliceIdentity) -> Observation:
        """Tell one that is not there any more from one that is still to come, or never will be."""
        try:
            newest = await client.newest_operation(project, identity.zone, identity.name)
        except ApiError as error:
            if error.code not in _NOT_OFFERED:
                raise
            newest = None
        trace = self._traces[project, identity.zone, identity.name]
        if newest is None or not newest.creates or newest.name == trace.old:
            return Absent()
        if newest.failure is not None:
            trace.failed = newest.name
            return Absent(refusal(newest.failure, f"{identity.name} in {identity.zone}"))
        if newest.done or trace.seen:
            return Absent()
        why = "its creation is under way"
        return Present(SlicePhase.PENDING, "CREATING", (), identity.labels, why)

    @staticmethod
    def _named_project(request: SliceRequest) -> str:
        try:
            return requests.project_of(request)
        except WrongFlagError as error:
            raise PermanentCloudError(f"tpu.flags: {error}") from error

    async def _project(self, identity: SliceIdentity) -> str:
        return identity.project or await self._connection.project()


async def _look(
    client: Client, project: str, identity: SliceIdentity
) -> tuple[QueuedFacts | None, NodeFacts | None]:
    """Look at both parts of a slice, in the order that ``judge`` needs."""
    queued = await client.queued(project, identity.zone, identity.name)
    return queued, await client.node(project, identity.zone, identity.name)


async def _surely(
    client: Client, project: str, identity: SliceIdentity
) -> tuple[QueuedFacts | None, NodeFacts | None]:
    """Look at both parts of a slice where something hangs on the answer.

    Raises:
        CloudError: there is none.
    """
    try:
        return await _look(client, project, identity)
    except ApiError as error:
        raise trouble(error.failure, f"no look at slice {identity.name}") from error


def _check_labels(
    identity: SliceIdentity, queued: QueuedFacts | None, node: NodeFacts | None
) -> None:
    for thing in (queued, node):
        if thing is not None and not is_of(identity, thing.labels):
            labels = our_labels(thing.labels)
            owner = labels.get("jobman-owner", "somebody who does not use jobman")
            job = labels.get("jobman-job", "none")
            raise HeldError(
                f"slice {identity.name} in {identity.zone} belongs to {owner} (job {job}): "
                "choose another tpu.name"
            )
