"""A bill as bars of money."""

from collections.abc import Sequence
from typing import Final

from jobman_core.chart.paper import MOST_BARS, MOST_DAYS, Bar, Bars, Part, money, span
from jobman_core.models.billing import Bill, Portion

#: The parts of a bar with their colours; grey is what is not paid.
_PAID: Final = ("paid", "#0072B2")
_CREDITS: Final = ("credits", "#BBBBBB")


def bars_of_bill(bill: Bill) -> Bars:
    """Give the chart of a bill; where there are several currencies, of the largest sum."""
    total = max(bill.totals, key=lambda portion: portion.cost, default=None)
    title, what = f"Costs by {bill.by}", [span(bill.since, bill.until)]
    if total is None:
        return Bars(title, what, (), (), "Nothing was charged.")
    currency = total.currency
    portions = [each for each in bill.portions if each.currency == currency]
    others = [money(each.net, each.currency) for each in bill.totals if each is not total]
    what.append(f"{money(total.net, currency)} ({money(total.cost, currency)} before credits)")
    paid, credit = _values(total)
    whole = paid + credit or 1.0
    return Bars(
        title,
        what,
        [Part(*_PAID, paid / whole), Part(*_CREDITS, credit / whole)],
        _bars(bill, portions),
        "Nothing was charged.",
        f"and {', '.join(others)}, which are not drawn" if others else "",
    )


def _bars(bill: Bill, portions: Sequence[Portion]) -> Sequence[Bar]:
    if bill.by == "day":
        return [_bar(bill, portion) for portion in portions[-MOST_DAYS:]]
    bars = [_bar(bill, portion) for portion in portions[:MOST_BARS]]
    if rest := portions[MOST_BARS:]:
        sums = sum(each.cost for each in rest), sum(each.credits for each in rest)
        left = Portion(f"{len(rest)} more", rest[0].currency, *sums)
        bars.append(Bar(left.name, (), [money(left.net, left.currency)]))
    return bars


def _bar(bill: Bill, portion: Portion) -> Bar:
    name = portion.name or ("(nobody)" if bill.by == "user" else "(none)")
    return Bar(name, _values(portion), [money(portion.net, portion.currency)])


def _values(portion: Portion) -> tuple[float, float]:
    """Give what is paid and what credits took off; what is given back is no bar."""
    paid = max(portion.net, 0.0)
    return paid, max(portion.cost - paid, 0.0)
