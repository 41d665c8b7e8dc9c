"""Making trouble: the verbs of ``jobman emulator``, as methods, and over HTTP below /emulator/."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import attrs
from aiohttp import web
from google.cloud.tpu_v2alpha1.types import cloud_tpu as api

from jobman_core.errors import instead
from jobman_emulator.apis.verbs import Verbs
from jobman_emulator.catalog import KINDS, ZONES, kinds_of, region_of
from jobman_emulator.errors import ApiError, invalid, not_found, read_code
from jobman_emulator.faults import KINDS as FAULTS
from jobman_emulator.faults import Slowness
from jobman_emulator.limits import SETTINGS
from jobman_emulator.lives import Lives
from jobman_emulator.rest_door import read_json, reply_json
from jobman_emulator.service import NAMES, Tpu
from jobman_emulator.state import NodeState, QueuedState

#: The orders in which a queued resource and its node were seen to go.
ORDERS: Final = ("suspending-first", "node-first")
#: States in which a node has no hosts.
_DOWN: Final = frozenset({NodeState.PREEMPTED, NodeState.TERMINATED, NodeState.STOPPED})


@attrs.frozen
class Counts:
    """What there is at a moment."""

    nodes: int
    queued_resources: int
    #: Of all hosts.
    processes: int

    @property
    def empty(self) -> bool:
        """Whether nothing is left."""
        return self == Counts(0, 0, 0)


class Control(Verbs):
    """The verbs. A node, or queued resource, is named in full or by its id where that is clear.

    All raise :class:`~jobman_emulator.errors.ApiError` for what there is not.
    """

    def __init__(self, tpu: Tpu, lives: Lives) -> None:
        """Rule one emulator."""
        super().__init__(tpu.account, tpu.metrics, lives.state.now)
        self._tpu = tpu
        self._lives = lives
        self._state = lives.state

    def counts(self) -> Counts:
        """Count what there is."""
        processes = self._lives.machines.processes()
        return Counts(len(self._state.nodes), len(self._state.queued), processes)

    def resources(self) -> dict[str, str]:
        """Give the state of everything, by name."""
        nodes = {name: node.state.name for name, node in self._state.nodes.items()}
        queued = {name: item.state.state.name for name, item in self._state.queued.items()}
        return {**queued, **nodes}

    def history(self, name: str = "") -> list[tuple[str, str]]:
        """Give every state that things came to, in their order, with their ids; GONE at the end.

        Args:
            name: one thing's id; empty: all.
        """
        seen = [(full.rpartition("/")[2], state) for full, state in self._state.history]
        return [(short, state) for short, state in seen if name in ("", short)]

    async def pace(
        self,
        *,
        provisioning: float | None = None,
        deleting: float | None = None,
        suspending: float | None = None,
    ) -> None:
        """Let things take so many seconds from now on; None: as before."""
        pace = self._lives.pace
        pace.provisioning = pace.provisioning if provisioning is None else provisioning
        pace.deleting = pace.deleting if deleting is None else deleting
        pace.suspending = pace.suspending if suspending is None else suspending

    async def preempt(self, name: str, *, order: str = ORDERS[0], notice: float = 0.0) -> None:
        """Take a spot slice away; returns when its processes are gone and the state says so.

        Args:
            name: a node, or a queued resource with all its nodes.
            order: one of :data:`ORDERS`, for a node that a queued resource has.
            notice: seconds between the notice on the hosts and their end.
        """
        if order not in ORDERS:
            raise invalid(f"unknown order {order!r}: {instead(order, [*ORDERS])}")
        thing = self._resolve(name)
        owner = thing.queued_resource if isinstance(thing, api.Node) else thing.name
        lives = self._lives
        self._state.abandon(thing.name)
        if owner in self._state.queued:
            first = order == ORDERS[1]
            await _lived(
                lives.start(owner, lambda: lives.preempt_queued(owner, notice, node_first=first))
            )
        else:
            await _lived(lives.start(thing.name, lambda: lives.preempt_node(thing.name, notice)))

    async def maintenance(self, node: str, *, pending: bool = False, over: bool = False) -> None:
        """Let maintenance come to a node (pending), go on, or be over."""
        found = self._node(node)
        if over:
            self._tpu.nodes.end_maintenance(found)
        else:
            self._tpu.nodes.maintenance(found, ongoing=not pending)

    async def host_down(self, node: str, index: int) -> None:
        """Let one host vanish, the others stay; the node goes on to say READY and HEALTHY."""
        name = self._node(node).name
        if index not in range(len(self._state.machines.get(name, ()))):
            raise not_found(f"{name}/hosts/{index}")
        await self._lives.machines.host_down(name, index)

    async def set_state(self, name: str, state: str) -> None:
        """Let a node or queued resource have a state, by its name; GONE lets it not be there.

        Where the state says that the hosts are down, they are ended first.
        """
        thing = self._resolve(name)
        lives, word = self._lives, state.upper()
        if not isinstance(thing, api.Node):
            self._set_queued(thing, word)
        elif word == "GONE":
            await _lived(lives.start(thing.name, lambda: lives.vanish(thing.name)))
        elif word not in NodeState.__members__:
            raise _unknown_state(state, NodeState.__members__)
        elif NodeState[word] in _DOWN:
            down = NodeState[word]
            await _lived(lives.start(thing.name, lambda: lives.halt_as(thing.name, down)))
        else:
            self._state.set_node(thing, NodeState[word])

    async def capacity(
        self,
        zone: str,
        accelerator: str,
        count: int | None,
        *,
        reserved: bool = False,
    ) -> None:
        """Let a zone have so many slices of a type at once; None: as many as are wanted.

        Nothing is reserved until this says so.
        """
        _check_zone(zone)
        if KINDS.get(accelerator) not in kinds_of(zone):
            raise invalid(f"zone {zone} has no {accelerator}")
        _set(self._lives.limits.capacities, (zone, accelerator, reserved), count)
        self._state.touch()

    async def quota(self, place: str, what: str, limit: int | None) -> None:
        """Let the project hold so much in a zone or region; None: no limit.

        Args:
            place: a zone, or a region.
            what: a family like ``v6e``, counted as in ``v6e-N``: of spot and of on-demand slices
                each; ``v6e-spot`` and ``v6e-on-demand``: of these alone; ``queued-resources``; of
                the hosts, ``external-ips``, ``instances`` and ``disk-gb``.
            limit: so many; 0 is what a project has that never asked for quota.
        """
        if place not in map(region_of, ZONES):
            _check_zone(place)
        if what not in SETTINGS:
            raise invalid(f"unknown quota {what!r}: {instead(what, [*SETTINGS])}")
        for each in SETTINGS[what]:
            _set(self._lives.limits.quotas, (place, each), limit)

    async def fail_next(
        self, call: str, *, code: str | int, message: str = "", times: int = 1, late: bool = False
    ) -> None:
        """Let the next calls of a method fail.

        Args:
            call: like ``CreateNode``.
            code: its number or name, or an HTTP status.
            message: what the error says.
            times: so many calls.
            late: answer well, and let the operation fail; a queued resource becomes FAILED, with
                code 13 by way of SUSPENDING.
        """
        _check_call(call)
        try:
            number = read_code(code)
        except ValueError as error:
            raise invalid(str(error)) from error
        planned = ApiError(number, message or "an error that was ordered")
        self._lives.faults.fail_next(call, planned, times, late=late)

    async def fault(self, kind: str, *, times: int = 1) -> None:
        """Order one of the troubles of :data:`jobman_emulator.faults.KINDS` for the next times."""
        if kind not in FAULTS:
            raise invalid(f"unknown fault {kind!r}: {instead(kind, [*FAULTS])}")
        self._lives.faults.order(kind, times)

    async def slow(self, call: str, seconds: float, *, after: bool = False) -> None:
        """Let a method take longer: before it does anything, or after it is done."""
        _check_call(call)
        slowness = Slowness(after=seconds) if after else Slowness(before=seconds)
        self._lives.faults.slow(call, slowness)

    async def rate_limit(self, call: str, per_minute: int | None) -> None:
        """Let so many calls of a method through in a minute; None: all."""
        _check_call(call)
        self._lives.faults.rate_limit(call, per_minute)

    async def reset(self) -> None:
        """Take back all orders, capacities, quotas and settings; what there is stays."""
        self._lives.faults.clear()
        self._account.clear()
        self._lives.limits.capacities.clear()
        self._lives.limits.quotas.clear()
        self._state.touch()

    def _set_queued(self, queued: api.QueuedResource, word: str) -> None:
        if word == "GONE":
            self._lives.start(queued.name, lambda: self._lives.drop_queued(queued.name))
        elif word not in QueuedState.__members__:
            raise _unknown_state(word, QueuedState.__members__)
        else:
            self._state.set_queued(queued, QueuedState[word])

    def _node(self, name: str) -> api.Node:
        return _named(self._state.nodes, name)

    def _resolve(self, name: str) -> Any:  # noqa: ANN401 - a node, or a queued resource
        return _named({**self._state.queued, **self._state.nodes}, name)


#: What may be called over HTTP.
VERBS: Final = (
    *("preempt", "maintenance", "host_down", "set_state", "capacity", "quota", "fail_next"),
    *("fault", "slow", "rate_limit", "pace", "reset", "api", "permission", "os_login", "bucket"),
)


def add_control(app: web.Application, control: Control) -> None:
    """Let an application serve the verbs: their arguments are a JSON object."""

    async def status(_request: web.Request) -> web.Response:
        document = {**attrs.asdict(control.counts()), "resources": control.resources()}
        return reply_json(document)

    async def act(request: web.Request) -> web.Response:
        verb = request.match_info["verb"].replace("-", "_")
        if verb not in VERBS:
            raise not_found(f"emulator/{verb}")
        # A page in somebody's browser cannot send this without asking first.
        if request.content_type != "application/json":
            raise invalid("the arguments must be application/json")
        method: Callable[..., Awaitable[None]] = getattr(control, verb)
        arguments = await read_json(request)
        try:
            inspect.signature(method).bind(**arguments)
        except TypeError as error:
            raise invalid(f"{verb}: {error}") from error
        await method(**arguments)
        return reply_json({})

    app.router.add_get("/emulator/status", status)
    app.router.add_post("/emulator/{verb}", act)


def _named(things: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 - what they are made of
    """Find a thing by its full name, or by its id."""
    if name in things:
        return things[name]
    found = [full for full in things if full.rpartition("/")[2] == name]
    # A queued resource comes before a node that has its name: they are one slice.
    owners = {things[full].name for full in found if "/queuedResources/" in full}
    found = [full for full in found if getattr(things[full], "queued_resource", "") not in owners]
    if not found:
        raise not_found(name)
    if len(found) > 1:
        raise invalid(f"{name} is the name of several: use one of {', '.join(found)}")
    return things[found[0]]


def _check_call(call: str) -> None:
    if call not in NAMES:
        raise invalid(f"unknown call {call!r}: {instead(call, [*NAMES])}")


def _check_zone(zone: str) -> None:
    if zone not in ZONES:
        raise invalid(f"unknown zone {zone!r}: {instead(zone, [*ZONES])}")


def _unknown_state(state: str, known: Mapping[str, Any]) -> ApiError:
    return invalid(f"unknown state {state!r}: use one of {', '.join(known)}, GONE")


def _set(limits: dict[Any, int], key: Any, limit: int | None) -> None:  # noqa: ANN401 - any key
    limits.pop(key, None)
    if limit is not None:
        limits[key] = limit


async def _lived(task: asyncio.Task[None]) -> None:
    """Wait until a life has ended, also by another one's beginning."""
    await asyncio.wait([task])
    if not task.cancelled() and (error := task.exception()):
        raise error
