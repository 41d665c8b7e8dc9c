"""Charts of usage, for people to paste into reports.

Nothing of matplotlib's global state is touched, and no name is taken for markup: dollar signs are
dollar signs, and what the font does not have is shown as its code.
"""

import io
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from jobman_core.errors import InvalidInputError, printable
from jobman_core.models.usage import Share, Usage

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Comes with matplotlib, so that a chart looks the same everywhere.
_FONT: Final = "DejaVu Sans"
#: The parts of a bar with their colours, which people tell apart who see few colours, and on paper:
#: of Okabe and Ito's palette, with grey for what is lost.
_PARTS: Final = (("running", "#0072B2"), ("preparing", "#E69F00"), ("idle", "#BBBBBB"))
_INK: Final = "#222222"
_FAINT: Final = "#666666"
#: Bars that are drawn; of what is left only the numbers are written.
_MOST_BARS: Final = 30
#: A year of days would be one bar each.
_MOST_DAYS: Final = 92
#: Characters of a name.
_LONGEST: Final = 26
#: Inches.
_WIDTH: Final = 9.0
_ROW: Final = 0.36
_ABOVE: Final = 1.3
_BELOW: Final = 0.5
_DPI: Final = 130


def draw(usage: Usage) -> bytes:
    """Draw a report as bars of chip-hours, a PNG.

    Raises:
        InvalidInputError: matplotlib is not installed.
    """
    with _silence():
        try:
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure
        except ImportError as error:
            raise InvalidInputError(
                "charts need matplotlib, which is not installed: pip install 'jobman-cli[plot]'"
            ) from error
        bars, others = _bars(usage)
        height = _ABOVE + _ROW * max(len(bars) + (others is not None), 2) + _BELOW
        figure = Figure(figsize=(_WIDTH, height), dpi=_DPI, facecolor="white")
        FigureCanvasAgg(figure)
        _head(figure, usage, height)
        if bars:
            _body(figure, usage, bars, others, height)
        else:
            _write(figure, 0.03, 0.35, "Nothing was used.", size=11, color=_FAINT)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png")
    return buffer.getvalue()


@contextmanager
def _silence() -> Iterator[None]:
    """Keep matplotlib from telling of its font cache, which is no concern of whoever waits."""
    logger = logging.getLogger("matplotlib")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def _bars(usage: Usage) -> tuple[Sequence[Share], Share | None]:
    """Give whose bars are drawn, and what the smallest ones come to that are left out."""
    if usage.by == "day":
        return (usage.shares[-_MOST_DAYS:] if usage.total.hours else (), None)
    shares = [share for share in usage.shares if share.hours]
    rest = shares[_MOST_BARS:]
    if not rest:
        return shares, None
    costs = [share.cost for share in rest if share.cost is not None]
    others = Share(
        f"{len(rest)} more",
        hours=sum(share.hours for share in rest),
        running=sum(share.running for share in rest),
        cost=sum(costs) if len(costs) == len(rest) else None,
    )
    return shares[:_MOST_BARS], others


def _head(figure: "Figure", usage: Usage, height: float) -> None:
    """Write what it is a chart of, what it comes to, and what the colours mean."""
    total = usage.total
    what = [span(usage.since, usage.until), f"{_number(total.hours)} chip-hours"]
    if total.goodput is not None:
        what.append(f"{total.goodput:.0%} running")
    if total.cost is not None and total.hours:
        of = f", by prices of {usage.prices.of}" if usage.prices.of else ""
        what.append(f"about {_money(total.cost, usage)}{of}")
    _write(figure, 0.03, 1 - 0.32 / height, f"Chip-hours by {usage.by}", size=14, weight="bold")
    _write(figure, 0.03, 1 - 0.62 / height, "  ·  ".join(what), size=9, color=_FAINT)
    for number, (part, colour) in enumerate(_PARTS if total.hours else ()):
        left, y = 0.03 + 0.15 * number, 1 - 0.92 / height
        share = getattr(total, part) / total.hours
        _write(figure, left, y, "■", size=12, color=colour)
        _write(figure, left + 0.02, y, f"{part} {share:.0%}", size=9)
    if total.waiting:
        waited = f"{_number(total.waiting)} chip-hours waited for, not paid"
        _write(figure, 0.97, 1 - 0.92 / height, waited, size=9, color=_FAINT, ha="right")


def _body(
    figure: "Figure", usage: Usage, bars: Sequence[Share], others: Share | None, height: float
) -> None:
    """Draw the bars, with whose they are before them and what they come to behind them."""
    from matplotlib.ticker import MaxNLocator

    bottom, top = _BELOW / height, (height - _ABOVE) / height
    axes = figure.add_axes((0.25, bottom, 0.47, top - bottom))
    longest = max(share.hours for share in bars)
    for row, share in enumerate(bars):
        left = 0.0
        for part, colour in _PARTS:
            hours = getattr(share, part)
            axes.barh(row, hours, left=left, height=0.68, color=colour, edgecolor="white", lw=0.5)
            left += hours
        _label(axes, usage, row, share, longest)
    if others is not None:
        _label(axes, usage, len(bars), others, longest, left=0)
    axes.set_xlim(0, longest)
    axes.set_ylim(len(bars) + (others is not None) - 0.4, -0.6)
    axes.set_yticks([])
    axes.set_axisbelow(True)
    axes.grid(axis="x", color="#E5E5E5", lw=0.8)
    for side in ("top", "right", "bottom", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="x", length=0, labelsize=8, labelcolor=_FAINT, labelfontfamily=_FONT)
    axes.xaxis.set_major_formatter(lambda hours, _: _number(hours))
    axes.xaxis.set_major_locator(MaxNLocator(5))


def _label(
    axes: "Axes",
    usage: Usage,
    row: int,
    share: Share,
    longest: float,
    *,
    left: float | None = None,
) -> None:
    """Write whose bar it is before it, and what it comes to behind it."""
    name = share.name if not share.note or usage.by != "job" else f"{share.name} {share.note}"
    said = [_number(share.hours)]
    if share.goodput is not None:
        said.append(f"{share.goodput:.0%} running")
    if share.cost is not None and share.hours:
        said.append(_money(share.cost, usage))
    gap = longest * 0.015
    _write(axes, -gap, row, _shown(name), size=9, ha="right", va="center")
    behind = (share.hours if left is None else left) + gap
    # The lines of the grid end where numbers begin.
    paper = {"facecolor": "white", "linewidth": 0, "pad": 1}
    words = "  ·  ".join(said)
    _write(axes, behind, row, words, size=8, va="center", color=_FAINT, bbox=paper)


def _write(
    where: "Figure | Axes",
    x: float,
    y: float,
    text: str,
    *,
    size: float,
    **more: Any,  # noqa: ANN401
) -> None:
    """Write a text that is no markup, whatever a user's own settings of matplotlib say."""
    style = {"color": _INK, "family": _FONT, "parse_math": False, "usetex": False, **more}
    where.text(x, y, _drawable(text), fontsize=size, **style)


def _drawable(text: str) -> str:
    """Show what the font does not have as its code."""
    from matplotlib.font_manager import findfont, get_font

    known = get_font(findfont(_FONT)).get_charmap()
    return "".join(
        char if ord(char) in known else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def _shown(name: str) -> str:
    """Give a name on one line that leaves room for its bar."""
    text = printable(name)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def span(since: datetime, until: datetime) -> str:
    """Say from when to when; of whole days, the first and the last."""
    if not any((since.hour, since.minute, until.hour, until.minute)):
        first, last = since.date(), (until - timedelta(minutes=1)).date()
        return f"{first} to {last}" if first < last else f"{first}"
    return f"{since:%Y-%m-%d %H:%M} to {until:%Y-%m-%d %H:%M}"


def _number(value: float) -> str:
    """Write a number as short as it may be without telling something else."""
    if value >= 100 or value == 0:  # noqa: PLR2004 - three digits
        return f"{value:,.0f}"
    return f"{value:.2g}" if value < 1 else f"{value:.1f}".removesuffix(".0")


def _money(value: float, usage: Usage) -> str:
    sign = "$" if usage.prices.currency == "USD" else f"{usage.prices.currency} "
    return f"{sign}{value:,.2f}" if value < 100 else f"{sign}{value:,.0f}"  # noqa: PLR2004 - the same
