"""What ``jobman quota`` shows, as tables and lines."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final

import attrs

from jobman_cli import output
from jobman_cli.output import Cell, Table
from jobman_core.models.accelerator import family_of
from jobman_core.models.quota import Allowance, Holding, Quota

#: Characters of a bar.
_BAR: Final = 10
#: Zones of a line that are named before the rest is counted.
_NAMED: Final = 3


def chosen(found: Quota, zone: str, family: str, *, everything: bool) -> Quota:
    """Give the part that matters to who asked.

    Args:
        found: all.
        zone: a glob, like ``us-*``.
        family: empty: all; ``v5e`` is ``v5litepod``.
        everything: also what may not be held, or may without a limit, and is not.
    """
    name = family_of(family)
    holdings = tuple(
        each
        for each in found.holdings
        if (not each.zone or fnmatchcase(each.zone, zone))
        and (each.trouble or not name or each.family == name)
        and (everything or each.trouble or each.limit or _is_held(each))
    )
    held = {each.zone for each in holdings if _is_held(each)}
    others = tuple(
        (cloud, project, each)
        for cloud, project, each in found.others
        if not name
        and any(fnmatchcase(one, zone) for one in each.zones)
        and (everything or each.used or held & {*each.zones})
    )
    return attrs.evolve(found, holdings=holdings, others=others)


def accounts(shown: Quota) -> Sequence[str]:
    """Name the accounts that it is about."""
    found = {_account(each.cloud, each.project) for each in shown.holdings}
    return sorted(found | {_account(cloud, project) for cloud, project, _ in shown.others})


def chips(shown: Quota, *, everything: bool) -> Table:
    """Give what is held, a line each."""
    several = len(accounts(shown)) > 1
    table = Table("ZONE", "FAMILY", "PRICING", "READY", "WAITING", "DEAD", "OF LIMIT")
    rows = [each for each in shown.holdings if not each.trouble and (everything or _is_held(each))]
    for each in sorted(rows, key=lambda one: (-one.held, _place(one))):
        table.add(
            _place(each) if several else each.zone,
            _family(each),
            each.pricing or output.NOTHING,
            str(each.ready),
            str(each.waiting),
            Cell(str(each.dead), "red" if each.dead else ""),
            _of_limit(each),
        )
    return table


def free(shown: Quota, *, everything: bool) -> Table:
    """Give what may be held, and is not: a line for all zones with the same limit."""
    table = Table("FAMILY", "PRICING", "LIMIT", "ZONES WHERE NONE IS HELD")
    several = len(accounts(shown)) > 1
    alike: dict[tuple[str, str, str, str], list[str]] = defaultdict(list)
    for each in shown.holdings if not everything else ():
        if not each.trouble and not _is_held(each):
            account = _account(each.cloud, each.project)
            limit = _number(each.limit) if each.limited_in == each.zone else _limit(each)
            alike[account, _family(each), each.pricing, limit].append(each.zone)
    for (account, family, pricing, limit), zones in sorted(alike.items()):
        where = f"{account} " if several else ""
        table.add(family, pricing, limit, where + output.joined(zones, _NAMED))
    return table


def others(shown: Quota) -> Table:
    """Give what hosts take besides chips, a line each."""
    several = len(accounts(shown)) > 1
    table = Table("REGION", "WHAT", "USED", "OF LIMIT")
    for cloud, project, each in shown.others:
        used = output.NOTHING if each.used is None else f"{each.used} {each.unit}".rstrip()
        where = f"{_account(cloud, project)} {each.place}" if several else each.place
        table.add(where, each.what, used, _bar(each))
    return table


def warnings(shown: Quota) -> Iterator[str]:
    """Say what is not known, and which limits are reached."""
    for each in shown.holdings:
        if each.trouble:
            yield f"nothing is known of {_place(each)}: {each.trouble}"
        elif each.uncounted:
            slices = output.count(each.uncounted, "slice")
            what = f"chips of {slices} of type {each.family or 'unknown'} are not counted"
            yield f"{_place(each)}: {what}: jobman does not know that type"
    for place, what, limit, dead in _full(shown.holdings):
        remedy = "`jobman reap` deletes what is dead" if dead else "more is asked for in vain"
        yield f"{place}: all {limit} chips of {what} are held: {remedy}"
    for cloud, project, other in shown.others:
        if other.is_reached:
            place = f"{_account(cloud, project)} {other.place}"
            yield f"{place}: all {other.limit} {other.what} are in use: hosts that need one fail"


def notes(shown: Quota) -> Iterator[str]:
    """Say what else there is to know."""
    yield from shown.unknown
    if any(each.dead for each in shown.holdings):
        yield "what is dead counts against the quota until it is deleted: `jobman reap`"


def _full(holdings: Iterable[Holding]) -> Iterator[tuple[str, str, int, bool]]:
    """Give each limit that is reached, once: place, what, limit, and whether dead ones count."""
    dead: dict[tuple[str, str, int], bool] = {}
    for each in holdings:
        if each.is_full and _is_held(each):
            place = f"{_account(each.cloud, each.project)} {each.limited_in}"
            key = (place, f"{_family(each)} {each.pricing}", each.limit or 0)
            dead[key] = dead.get(key, False) or bool(each.dead)
    yield from ((*key, any_dead) for key, any_dead in dead.items())


def _of_limit(held: Holding) -> Cell:
    if held.limit is None or held.used is None:
        return Cell(_limit(held))
    colour = "red" if held.is_full or not held.limit else ""
    return Cell(f"{_drawn(held.used, held.limit)} {held.used}/{_limit(held)}", colour)


def _bar(other: Allowance) -> Cell:
    if other.limit is None or other.used is None:
        return Cell(_number(other.limit))
    text = f"{_drawn(other.used, other.limit)} {other.used}/{other.limit}"
    return Cell(text, "red" if other.is_reached else "")


def _drawn(used: int, limit: int) -> str:
    """Draw a bar; something that is used is never drawn as nothing."""
    share = min(used / limit, 1.0) if limit else 1.0
    full = max(int(share * _BAR), 1 if used else 0)
    return "#" * full + "." * (_BAR - full) + f" {share:4.0%}"


def _limit(held: Holding) -> str:
    if not held.limited_in:
        return "not known"
    where = "" if held.limited_in == held.zone or held.limit is None else f" in {held.limited_in}"
    return _number(held.limit) + where


def _number(limit: int | None) -> str:
    return "no limit" if limit is None else str(limit)


def _family(held: Holding) -> str:
    return " ".join(filter(None, (held.family or output.NOTHING, held.sizes)))


def _is_held(each: Holding) -> bool:
    return bool(each.held or each.uncounted)


def _place(held: Holding) -> str:
    return f"{_account(held.cloud, held.project)} {held.zone}".rstrip()


def _account(cloud: str, project: str) -> str:
    return " ".join(filter(None, (cloud, project)))
