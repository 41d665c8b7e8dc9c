"""What lies over the view for a moment: a question, a line to write in, pages of text."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Key
from textual.screen import ModalScreen, Screen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, Static

from jobman_cli import output

#: So many lines of a log are kept.
_LINES: Final = 5_000
_BOTTOM: Final = """
    background: transparent; align: left bottom;
    Static, Input { width: 100%; height: auto; max-height: 50%; border: none; padding: 0; }
"""


class Ask(ModalScreen[bool]):
    """A question at the bottom, answered by a key."""

    CSS = f"Ask {{ {_BOTTOM} }}"

    def __init__(self, question: str) -> None:
        """Take the question."""
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """Show it."""
        text = Text(f"{output.clean(self._question)} [y/N]", style="bold reverse")
        yield Static(text)

    def on_key(self, event: Key) -> None:
        """Take ``y`` for yes and every other key for no."""
        event.stop()
        self.dismiss(event.key in ("y", "Y"))


class Prompt(ModalScreen[str | None]):
    """A line to write in, at the bottom."""

    CSS = f"Prompt {{ {_BOTTOM} }}"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)")]

    def __init__(self, hint: str, text: str, written: Callable[[str], None]) -> None:
        """Say what is to be written.

        Args:
            hint: shown while there is nothing.
            text: what is there already.
            written: gets the text with every change.
        """
        super().__init__()
        self._input = Input(text, placeholder=hint, select_on_focus=False)
        self._input.cursor_blink = False
        self._written = written
        self._done = False

    def compose(self) -> ComposeResult:
        """Show it."""
        yield self._input

    def on_input_changed(self, event: Input.Changed) -> None:
        """Tell what is there now."""
        if not self._done:
            self._written(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Be done, whatever was typed after that."""
        self._done = True
        self.dismiss(event.value)


class Lines(Widget, can_focus=True):
    """Lines of text, the last ones of many, that one moves through."""

    DEFAULT_CSS = "Lines { width: 100%; height: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)"),
        Binding("down,j", "move(1)"),
        Binding("pageup,ctrl+b", "page(-1)"),
        Binding("pagedown,ctrl+f,space", "page(1)"),
        Binding("home,g", "move(-1000000)"),
        Binding("end,G", "move(1000000)"),
    ]

    def __init__(self, *, follow: bool) -> None:
        """Begin with none.

        Args:
            follow: stay at the end as lines come, unless somebody moves away from it.
        """
        super().__init__()
        self._follow = follow
        self._texts: deque[Text] = deque(maxlen=_LINES)
        #: What of them has been broken into lines of the present width.
        self._strips: deque[Strip] = deque(maxlen=_LINES)
        self._begun: list[Strip] = []
        self._top = 0

    def add(self, texts: Iterable[Text], begun: Sequence[Text] = ()) -> None:
        """Append lines, and show below them those that have not ended yet."""
        new = [*texts][-_LINES:]
        self._texts.extend(new)
        at_end = self._top >= self._last
        self._strips.extend(strip for text in new for strip in self._broken(text))
        self._begun = [strip for text in begun for strip in self._broken(text)]
        if self._follow and at_end:
            self._top = self._last
        self._top = max(0, min(self._top, self._last))
        self.refresh()

    def on_resize(self) -> None:
        """Break the lines anew."""
        at_end = self._top >= self._last
        self._strips.clear()
        self._strips.extend(strip for text in self._texts for strip in self._broken(text))
        self._top = self._last if self._follow and at_end else min(self._top, self._last)
        # It may have been drawn at the new width already.
        self.refresh()

    @property
    def _last(self) -> int:
        """Where the first line stands when the last one is seen."""
        return max(0, len(self._strips) + len(self._begun) - self.size.height)

    def action_move(self, by: int) -> None:
        """Move so many lines."""
        self._top = max(0, min(self._top + by, self._last))
        self.refresh()

    def action_page(self, by: int) -> None:
        """Move a page."""
        self.action_move(by * max(self.size.height - 1, 1))

    def _broken(self, text: Text) -> Sequence[Strip]:
        width = self.size.width
        if not width:
            return ()
        lines = text.wrap(self.app.console, width, tab_size=8, overflow="fold")
        return [Strip(line.render(self.app.console)) for line in lines or [text]]

    def render_line(self, y: int) -> Strip:
        """Give a line to Textual."""
        index, ended = self._top + y, len(self._strips)
        if index < ended:
            found = self._strips[index]
        else:
            found = (
                self._begun[index - ended] if index - ended < len(self._begun) else Strip.blank(0)
            )
        return Strip(Segment(s.text, s.style) for s in found).adjust_cell_length(self.size.width)


class Pager(Screen[None]):
    """Text on the whole terminal."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss(None)")]
    CSS = "Pager > Static { width: 100%; height: 1; }"

    def __init__(self, title: str, texts: Iterable[Text] = (), *, follow: bool = False) -> None:
        """Show lines, and more as they come."""
        super().__init__()
        self._title = title
        self._begin = list(texts)
        self.lines = Lines(follow=follow)

    def compose(self) -> ComposeResult:
        """Show them, between what they are and how one gets back."""
        style = Style(bold=True, reverse=True)
        yield Static(Text(output.clean(self._title).ljust(self.app.size.width), style=style))
        yield self.lines
        yield Static(Text("Esc back   ↑↓ PgUp PgDn Home End", style="dim"))

    def on_mount(self) -> None:
        """Fill it."""
        self.lines.focus()
        self.call_after_refresh(self.lines.add, self._begin)
