"""What a zone has to give, and what a project may hold."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from google.cloud.tpu_v2alpha1.types import cloud_tpu as api
from google.rpc import code_pb2, error_details_pb2

from jobman_emulator.catalog import KINDS, Kind, region_of
from jobman_emulator.errors import ApiError
from jobman_emulator.quotas import QUOTAS, Quota, quota_of
from jobman_emulator.state import NodeState, State, place_of

#: What can be limited besides the families, and what the API calls it.
QUEUED: Final = "queued-resources"
QUEUED_ID: Final = "QueuedResourcesPerProjectPerZone"
#: What hosts take of the Compute API's, in whose words it says so.
COMPUTE: Final = {
    "external-ips": "IN_USE_ADDRESSES",
    "instances": "INSTANCES",
    "disk-gb": "DISKS_TOTAL_GB",
}
#: GB of the boot disk of a host.
_DISK: Final = 100
#: What a setting calls what it limits: one or more of these, each with that limit.
SETTINGS: Final[Mapping[str, Sequence[str]]] = {
    **{quota.family: (f"{quota.family}-on-demand", f"{quota.family}-spot") for quota in QUOTAS},
    **{quota.what: (quota.what,) for quota in QUOTAS},
    **{name: (name,) for name in (QUEUED, *COMPUTE)},
}
#: Nodes of these states have given their capacity back.
_IDLE: Final = frozenset({NodeState.PREEMPTED, NodeState.TERMINATED, NodeState.STOPPED})


class Want(NamedTuple):
    """What one node takes of a zone."""

    zone: str
    kind: Kind
    reserved: bool
    addresses: int
    spot: bool

    @property
    def quota(self) -> Quota:
        """The quota that its chips count against."""
        return quota_of(self.kind, spot=self.spot)

    def takes(self, what: str) -> int:
        """Say how much it takes of one of :data:`COMPUTE`."""
        hosts = self.kind.hosts
        taken = {"external-ips": self.addresses, "instances": hosts, "disk-gb": hosts * _DISK}
        return taken[what]


def want_of(zone: str, node: api.Node) -> Want:
    """Say what a node takes, or would take, of a zone."""
    kind = KINDS[node.accelerator_type]
    external = kind.hosts if node.network_config.enable_external_ips else 0
    scheduling = node.scheduling_config
    spot = scheduling.spot or scheduling.preemptible
    return Want(zone, kind, scheduling.reserved, external, spot)


def wants_of(queued: api.QueuedResource) -> list[Want]:
    """Say what a queued resource takes, or would take."""
    return [
        want_of(place_of(spec.parent)[1], spec.node)
        for spec in queued.tpu.node_spec
        for _ in range(spec.multi_node_params.node_count or 1)
    ]


class Limits:
    """Capacities and quotas; what is not said has no limit, but there are no reservations."""

    def __init__(self, state: State) -> None:
        """Limit nothing."""
        self._state = state
        #: By zone, type and whether it is reserved: slices at once.
        self.capacities: dict[tuple[str, str, bool], int] = {}
        #: By zone or region and what is limited: :attr:`Quota.what` in its family's own unit,
        #: :data:`QUEUED`, or one of :data:`COMPUTE`.
        self.quotas: dict[tuple[str, str], int] = {}

    def shortage(self, wants: Sequence[Want]) -> ApiError | None:
        """Say why the zone cannot give this now; None: it can."""
        for want in dict.fromkeys(wants):
            default = 0 if want.reserved else None
            key = (want.zone, want.kind.type, want.reserved)
            limit = self.capacities.get(key, default)
            if limit is not None and self._held(want) + wants.count(want) > limit:
                return _shortage(want)
        return None

    def check_quota(self, wants: Sequence[Want], *, queued: bool) -> None:
        """Let a request pass, or not.

        Raises:
            ApiError: it is more than the project may hold; what is dead counts until it is deleted.
        """
        for want in wants:
            quota = want.quota
            asked = sum(other.kind.count for other in wants if other.quota == quota)
            self._check(want.zone, quota, asked)
            for what in COMPUTE:
                self._check(want.zone, what, sum(other.takes(what) for other in wants))
            if queued:
                self._check(want.zone, QUEUED, 1)

    def _check(self, zone: str, what: Quota | str, asked: int) -> None:
        region = region_of(zone)
        for place in (zone, region):
            limit = self.quotas.get((place, what if isinstance(what, str) else what.what))
            if limit is None or not asked:
                continue
            metric = _metric(what, "Zone" if place == zone else "Region")
            if limit == 0:
                raise ApiError(
                    code_pb2.RESOURCE_EXHAUSTED,
                    f"Quota limit '{metric}' has been exceeded. Limit: 0 in region {region}.",
                )
            if self.used(place, what) + asked > limit:
                where = f"zone {zone}" if place == zone else f"region {region}"
                text = f"Quota '{metric}' exhausted. Limit {limit} in {where}"
                failure = error_details_pb2.QuotaFailure()
                failure.violations.add(subject=metric, description=text)
                raise ApiError(code_pb2.RESOURCE_EXHAUSTED, text, [failure])

    def used(self, place: str, what: Quota | str) -> int:
        """Count what is held of a zone or region; what is dead counts until it is deleted."""
        state = self._state
        wants = [want for queued in state.queued.values() for want in wants_of(queued)]
        nodes = [node for node in state.nodes.values() if node.queued_resource not in state.queued]
        wants += [want_of(place_of(node.name)[1], node) for node in nodes]
        if what == QUEUED:
            zones = [wants_of(queued)[0].zone for queued in state.queued.values()]
            return sum(place in (zone, region_of(zone)) for zone in zones)
        here = [want for want in wants if place in (want.zone, region_of(want.zone))]
        if isinstance(what, str):
            return sum(want.takes(what) for want in here)
        return sum(want.kind.count for want in here if want.quota == what)

    def _held(self, want: Want) -> int:
        state = self._state
        holders = (state.nodes[name] for name in state.granted)
        return sum(
            node.state not in _IDLE and want_of(place_of(node.name)[1], node)[:3] == want[:3]
            for node in holders
        )


def _metric(what: Quota | str, scope: str) -> str:
    if isinstance(what, Quota):
        return what.id(scope)
    return COMPUTE.get(what, QUEUED_ID)


def _shortage(want: Want) -> ApiError:
    if want.reserved:
        return ApiError(
            code_pb2.RESOURCE_EXHAUSTED,
            f'Insufficient reserved capacity for {want.kind.type} in the zone "{want.zone}". '
            "Contact customer support to increase your reservation.",
        )
    return ApiError(
        code_pb2.RESOURCE_EXHAUSTED,
        f'There is no more capacity in the zone "{want.zone}"; you can try in another zone where '
        "Cloud TPU Nodes are offered (see https://cloud.google.com/tpu/docs/regions)",
    )
