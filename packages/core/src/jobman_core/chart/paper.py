"""Bars on paper: what all charts have in common.

Nothing of matplotlib's global state is touched, and no name is taken for markup: dollar signs are
dollar signs, and what the font does not have is shown as its code.
"""

import io
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import attrs

from jobman_core.errors import InvalidInputError, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Comes with matplotlib, so that a chart looks the same everywhere.
_FONT: Final = "DejaVu Sans"
_INK: Final = "#222222"
_FAINT: Final = "#666666"
#: Bars that are drawn; of what is left only the numbers are written.
MOST_BARS: Final = 30
#: A year of days would be one bar each.
MOST_DAYS: Final = 92
#: Characters of a name.
_LONGEST: Final = 26
#: Inches.
_WIDTH: Final = 9.0
_ROW: Final = 0.36
_ABOVE: Final = 1.3
_BELOW: Final = 0.5
_DPI: Final = 130


@attrs.frozen
class Part:
    """One of the parts of all bars."""

    name: str
    colour: str
    #: Of all bars together, from 0 to 1.
    share: float


@attrs.frozen
class Bar:
    """One bar, with what is written on both sides of it."""

    name: str
    #: How long each part is; none: there is nothing to draw but the words.
    values: Sequence[float]
    #: What stands behind it, with dots between.
    said: Sequence[str]


@attrs.frozen
class Bars:
    """A chart."""

    title: str
    #: Of which time, and what it comes to.
    what: Sequence[str]
    parts: Sequence[Part]
    bars: Sequence[Bar]
    #: What is written where there is no bar.
    nothing: str
    #: What does not count, and should be known.
    aside: str = ""


def draw_bars(chart: Bars) -> bytes:
    """Draw a chart, a PNG.

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
        height = _ABOVE + _ROW * max(len(chart.bars), 2) + _BELOW
        figure = Figure(figsize=(_WIDTH, height), dpi=_DPI, facecolor="white")
        FigureCanvasAgg(figure)
        _head(figure, chart, height)
        if chart.bars:
            _body(figure, chart.bars, [part.colour for part in chart.parts], height)
        else:
            _write(figure, 0.03, 0.35, chart.nothing, size=11, color=_FAINT)
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


def _head(figure: "Figure", chart: Bars, height: float) -> None:
    """Write what it is a chart of, what it comes to, and what the colours mean."""
    _write(figure, 0.03, 1 - 0.32 / height, chart.title, size=14, weight="bold")
    _write(figure, 0.03, 1 - 0.62 / height, "  ·  ".join(chart.what), size=9, color=_FAINT)
    for number, part in enumerate(chart.parts):
        left, y = 0.03 + 0.15 * number, 1 - 0.92 / height
        _write(figure, left, y, "■", size=12, color=part.colour)
        _write(figure, left + 0.02, y, f"{part.name} {part.share:.0%}", size=9)
    if chart.aside:
        _write(figure, 0.97, 1 - 0.92 / height, chart.aside, size=9, color=_FAINT, ha="right")


def _body(figure: "Figure", bars: Sequence[Bar], colours: Sequence[str], height: float) -> None:
    """Draw the bars, with whose they are before them and what they come to behind them."""
    from matplotlib.ticker import MaxNLocator

    bottom, top = _BELOW / height, (height - _ABOVE) / height
    axes = figure.add_axes((0.25, bottom, 0.47, top - bottom))
    longest = max(sum(bar.values) for bar in bars) or 1.0
    for row, bar in enumerate(bars):
        left = 0.0
        for value, colour in zip(bar.values, colours, strict=False):
            axes.barh(row, value, left=left, height=0.68, color=colour, edgecolor="white", lw=0.5)
            left += value
        _label(axes, row, bar, left, longest)
    axes.set_xlim(0, longest)
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.set_yticks([])
    axes.set_axisbelow(True)
    axes.grid(axis="x", color="#E5E5E5", lw=0.8)
    for side in ("top", "right", "bottom", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="x", length=0, labelsize=8, labelcolor=_FAINT, labelfontfamily=_FONT)
    axes.xaxis.set_major_formatter(lambda value, _: number(value))
    axes.xaxis.set_major_locator(MaxNLocator(5))


def _label(axes: "Axes", row: int, bar: Bar, end: float, longest: float) -> None:
    """Write whose bar it is before it, and what it comes to behind it."""
    gap = longest * 0.015
    _write(axes, -gap, row, _shown(bar.name), size=9, ha="right", va="center")
    # The lines of the grid end where numbers begin.
    paper = {"facecolor": "white", "linewidth": 0, "pad": 1}
    words = "  ·  ".join(bar.said)
    _write(axes, end + gap, row, words, size=8, va="center", color=_FAINT, bbox=paper)


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


def number(value: float) -> str:
    """Write a number as short as it may be without telling something else."""
    if abs(value) >= 100 or value == 0:  # noqa: PLR2004 - three digits
        return f"{value:,.0f}"
    return f"{value:.2g}" if abs(value) < 1 else f"{value:.1f}".removesuffix(".0")


def money(value: float, currency: str) -> str:
    """Write a sum of money."""
    sign = "$" if currency == "USD" else f"{currency} "
    minus, value = ("-", -value) if value < 0 else ("", value)
    return f"{minus}{sign}{value:,.2f}" if value < 100 else f"{minus}{sign}{value:,.0f}"  # noqa: PLR2004 - the same
