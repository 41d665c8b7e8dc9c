"""A report of usage as bars of chip-hours."""

from collections.abc import Sequence
from typing import Final

from jobman_core.chart.paper import MOST_BARS, MOST_DAYS, Bar, Bars, Part, money, number, span
from jobman_core.models.usage import Share, Usage

#: The parts of a bar with their colours, which people tell apart who see few colours, and on paper:
#: of Okabe and Ito's palette, with grey for what is lost.
_PARTS: Final = (("running", "#0072B2"), ("preparing", "#E69F00"), ("idle", "#BBBBBB"))


def bars_of_usage(usage: Usage) -> Bars:
    """Give the chart of a report."""
    shares, others = _shares(usage)
    total = usage.total
    bars = [_bar(usage, share) for share in shares]
    waited = f"{number(total.waiting)} chip-hours waited for, not paid" if total.waiting else ""
    return Bars(
        f"Chip-hours by {usage.by}",
        [*_what(usage)],
        [
            Part(part, colour, getattr(total, part) / total.hours)
            for part, colour in (_PARTS if total.hours else ())
        ],
        [*bars, _bar(usage, others, bare=True)] if bars and others is not None else bars,
        "Nothing was used.",
        waited,
    )


def _shares(usage: Usage) -> tuple[Sequence[Share], Share | None]:
    """Give whose bars are drawn, and what the smallest ones come to that are left out."""
    if usage.by == "day":
        return (usage.shares[-MOST_DAYS:] if usage.total.hours else (), None)
    shares = [share for share in usage.shares if share.hours]
    rest = shares[MOST_BARS:]
    if not rest:
        return shares, None
    costs = [share.cost for share in rest if share.cost is not None]
    others = Share(
        f"{len(rest)} more",
        hours=sum(share.hours for share in rest),
        running=sum(share.running for share in rest),
        cost=sum(costs) if len(costs) == len(rest) else None,
    )
    return shares[:MOST_BARS], others


def _what(usage: Usage) -> Sequence[str]:
    total = usage.total
    what = [span(usage.since, usage.until), f"{number(total.hours)} chip-hours"]
    if total.goodput is not None:
        what.append(f"{total.goodput:.0%} running")
    if total.cost is not None and total.hours:
        of = f", by prices of {usage.prices.of}" if usage.prices.of else ""
        what.append(f"about {money(total.cost, usage.prices.currency)}{of}")
    return what


def _bar(usage: Usage, share: Share, *, bare: bool = False) -> Bar:
    name = share.name if not share.note or usage.by != "job" else f"{share.name} {share.note}"
    said = [number(share.hours)]
    if share.goodput is not None:
        said.append(f"{share.goodput:.0%} running")
    if share.cost is not None and share.hours:
        said.append(money(share.cost, usage.prices.currency))
    values = () if bare else [getattr(share, part) for part, _ in _PARTS]
    return Bar(name, values, said)
