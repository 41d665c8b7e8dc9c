"""Charts of usage and of bills, for people to paste into reports."""

from jobman_core.chart.bill import bars_of_bill
from jobman_core.chart.paper import draw_bars, span
from jobman_core.chart.usage import bars_of_usage
from jobman_core.models.billing import Bill
from jobman_core.models.usage import Usage

__all__ = ["draw", "span"]


def draw(report: Usage | Bill) -> bytes:
    """Draw a report as bars, a PNG.

    Raises:
        InvalidInputError: matplotlib is not installed.
    """
    return draw_bars(bars_of_bill(report) if isinstance(report, Bill) else bars_of_usage(report))
