"""What is known of places and zones, for all controllers of the home."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from sqlite3 import Row

import attrs

from jobman_core.builtin.sqlite import statements as sql
from jobman_core.builtin.sqlite.database import Tx
from jobman_core.builtin.sqlite.rows import present_of, present_text, stamp
from jobman_core.models.place import Stockout, Where
from jobman_core.models.slice import Present
from jobman_core.models.zone import Zone, ZoneLook


def set_stockout(tx: Tx, where: Where, stockout: Stockout | None) -> None:
    """Write down that there was no capacity somewhere, or that there is some."""
    place = attrs.asdict(where)
    if stockout is None:
        tx.run(sql.DROP_STOCKOUT, **place)
    else:
        tx.run(sql.PUT_STOCKOUT, **place, at=stamp(stockout.at), reason=stockout.reason)


def is_stockout(tx: Tx, where: Where) -> bool:
    """Tell whether there is something to forget about a place."""
    return tx.one(sql.STOCKOUT, **attrs.asdict(where)) is not None


def stockouts(tx: Tx, wheres: Iterable[Where]) -> Mapping[Where, Stockout]:
    """Give what is known of some places."""
    rows = ((where, tx.one(sql.STOCKOUT, **attrs.asdict(where))) for where in wheres)
    return {
        where: Stockout(datetime.fromisoformat(row["at"]), row["reason"])
        for where, row in rows
        if row is not None
    }


def know(tx: Tx, zone: Zone) -> None:
    """Write down that something was asked for in a zone."""
    tx.run(sql.INSERT_ZONE, **_key(zone))


def known(tx: Tx) -> Sequence[Zone]:
    """Give all zones in which something was asked for."""
    return [Zone(row["cloud"], row["name"], row["project"]) for row in tx.all(sql.ZONES)]


def look(tx: Tx, zone: Zone, known: ZoneLook | None) -> ZoneLook | None:
    """Give the newest look at a zone."""
    row = _find(tx, zone)
    if row is None or row["looked_at"] is None:
        return None
    if known is not None and known.changes == row["changes"]:
        return attrs.evolve(known, at=row["looked_at"], why=row["why"])
    sightings = tx.all(sql.SIGHTINGS, row["id"])
    listed = {each["name"]: present_of(each["seen"]) for each in sightings}
    return ZoneLook(row["looked_at"], listed, row["why"], row["changes"])


def is_due(tx: Tx, zone: Zone, after: ZoneLook | None, now: float, lapse: float) -> bool:
    """Tell whether nobody has looked at a zone since, and nobody looks now."""
    row = _find(tx, zone)
    if row is None:
        return True
    if row["looked_at"] != (None if after is None else after.at):
        return False
    # One of the far future is of the time before a reboot; who asked later may have come first.
    claimed_at = row["claimed_at"]
    return claimed_at is None or abs(now - claimed_at) >= lapse


def claim(tx: Tx, zone: Zone, by: str, *, after: ZoneLook | None, now: float, lapse: float) -> bool:
    """Write down who looks at a zone now."""
    if not is_due(tx, zone, after, now, lapse):
        return False
    tx.run(sql.INSERT_ZONE, **_key(zone))
    row = _find(tx, zone)
    assert row is not None  # noqa: S101 - it was put there just now
    tx.run(sql.CLAIM_LOOK, by, now, row["id"])
    return True


def save(tx: Tx, zone: Zone, by: str, look: ZoneLook) -> ZoneLook:
    """Write down a look, as far as it shows anything new."""
    row = _find(tx, zone)
    if row is None or row["claimed_by"] != by:
        return look
    changes = row["changes"]
    if not look.why:
        changes += _save_sightings(tx, row["id"], look.listed)
    tx.run(sql.SAVE_LOOK, look.at, look.why, changes, row["id"])
    return attrs.evolve(look, changes=changes)


def _save_sightings(tx: Tx, number: int, listed: Mapping[str, Present]) -> bool:
    """Write down what is listed now; tells whether anything of it is new."""
    old = {row["name"]: row["seen"] for row in tx.all(sql.SIGHTINGS, number)}
    new = {name: present_text(seen) for name, seen in listed.items()}
    changed = [(number, name, text) for name, text in new.items() if old.get(name) != text]
    gone = [(number, name) for name in old.keys() - new.keys()]
    tx.many(sql.PUT_SIGHTING, changed)
    tx.many(sql.DROP_SIGHTING, gone)
    return bool(changed or gone)


def _find(tx: Tx, zone: Zone) -> Row | None:
    return tx.one(sql.ZONE, **_key(zone))


def _key(zone: Zone) -> dict[str, str]:
    return {"cloud": zone.cloud, "project": zone.project, "name": zone.name}
