"""What a zone lists, as slices: queued resources with their nodes, and nodes of their own. Pure."""

from collections.abc import Iterable, Sequence

from jobman_core.errors import HeldError
from jobman_core.interfaces.cloud import Listed
from jobman_core.models.slice import Present, SlicePhase
from jobman_gcp.states import NodeFacts, QueuedFacts, judge


def listing(
    queued: Iterable[QueuedFacts], nodes: Iterable[NodeFacts], zone: str
) -> Sequence[Listed]:
    """Put together what belongs together; what is in a state that says nothing is left out."""
    by_name, owned, found = {node.name: node for node in nodes}, set[str](), []
    for each in queued:
        owned.update(each.nodes)
        found.append(queued_slice(each, [by_name.get(name) for name in each.nodes], zone))
    found += [node_slice(node, zone) for name, node in by_name.items() if name not in owned]
    return sorted((each for each in found if each is not None), key=lambda each: each.name)


def queued_slice(
    queued: QueuedFacts, nodes: Iterable[NodeFacts | None], zone: str
) -> Listed | None:
    """Give a queued resource as a slice: as alive as the most alive of its nodes."""
    there = [node for node in nodes if node is not None]
    alive = [node for node in there if not _is_lost(node, zone)]
    seen = judge(next(iter(alive or there), None), queued, zone)
    if not isinstance(seen, Present):
        return None
    return Listed(queued.name, zone, seen, queued.uid, queued.accelerator, queued.pricing)


def node_slice(node: NodeFacts, zone: str) -> Listed | None:
    """Give a node as a slice."""
    seen = judge(node, None, zone)
    if not isinstance(seen, Present):
        return None
    return Listed(node.name, zone, seen, node.uid, node.accelerator, node.pricing)


def surely(listed: Listed | None, name: str) -> Listed:
    """Give what was seen, where that says something.

    Raises:
        HeldError: it does not.
    """
    if listed is None:
        raise HeldError(f"{name} is in a state that says nothing about it: it is left alone")
    return listed


def _is_lost(node: NodeFacts, zone: str) -> bool:
    seen = judge(node, None, zone)
    return isinstance(seen, Present) and seen.phase is SlicePhase.LOST
