"""What a chip-hour costs: the lab's own numbers, then public list prices (``prices.toml``)."""

from collections.abc import Iterator, Mapping
from datetime import date
from importlib.resources import files
from typing import Any, Final

import attrs

from jobman_core.models.accelerator import family_of
from jobman_core.models.settings import Settings
from jobman_core.models.usage import Prices

#: The cloud that the list prices are of.
_LISTED: Final = "gcp"
#: Costs nothing, unless the lab says what its machines cost.
_FREE: Final = "local"

#: A number for all, or ``ondemand``, ``spot`` and ``zones``, whose entries are such numbers or
#: maps again.
Entry = float | Mapping[str, Any]


@attrs.frozen
class Tariff:
    """Knows what a chip-hour costs, or that nobody has said so."""

    prices: Prices
    #: By family: the lab's, and those of the list.
    own: Mapping[str, Entry]
    listed: Mapping[str, Entry]

    def rate(self, cloud: str, family: str, zone: str, pricing: str) -> float | None:
        """Give the price of one chip for one hour; None: it is not known.

        Args:
            cloud: whose chip it is.
            family: like ``v6e``.
            zone: where; a price may be that of its region.
            pricing: ``ondemand``, ``spot`` or ``preemptible``, which costs what spot does.
        """
        kind = "ondemand" if pricing == "ondemand" else "spot"
        tables = [self.own, self.listed] if cloud == _LISTED else [self.own]
        for table in tables:
            for found in _entries(table.get(family), zone):
                price = found.get(kind) if isinstance(found, Mapping) else found
                if price is not None:
                    return float(price)
        return 0.0 if cloud == _FREE else None


def tariff_of(settings: Settings) -> Tariff:
    """Put together the prices of a home; those of the list are in no currency but their own."""
    # Only for reports: the parser is not to be paid for by others.
    import tomllib

    table = tomllib.loads((files("jobman_core") / "prices.toml").read_text("utf-8"))
    of, currency, source = table.pop("of"), table.pop("currency"), table.pop("source")
    own = {family_of(name): entry for name, entry in settings.prices.items()}
    said = date.fromisoformat(settings.prices_of) if settings.prices_of else None
    if settings.currency not in (None, currency):
        return Tariff(Prices(said, str(settings.currency)), own, {})
    source = f"this lab's own, else {source}" if own else source
    return Tariff(Prices(said or of, currency, source), own, table)


def _entries(entry: Entry | None, zone: str) -> Iterator[Entry]:
    """Give what may say a price, the nearest first: of the zone, of its region, of all."""
    if entry is None:
        return
    if isinstance(entry, Mapping):
        places = entry.get("zones") or {}
        for place in (zone, zone.rpartition("-")[0]):
            if place in places:
                yield places[place]
    yield entry
