"""The live view itself: a Textual application over the core's App."""

import asyncio
import contextlib
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

import attrs
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from jobman_cli import output
from jobman_cli.monitor import actions
from jobman_cli.monitor.choice import PARTS, Choice
from jobman_cli.monitor.feed import Feed, pause
from jobman_cli.monitor.fit import heights, joined
from jobman_cli.monitor.grid import Grid, style_of
from jobman_cli.monitor.help import HINT, TEXT
from jobman_cli.monitor.parts import Part, Scope, summary
from jobman_cli.monitor.screens import Pager, Prompt
from jobman_cli.output import Cell
from jobman_core.errors import JobmanError, lines_of
from jobman_core.models.overview import Overview

if TYPE_CHECKING:
    from jobman_cli.front import Front
    from jobman_core.app import App as Core

#: Seconds that a message stays.
_MESSAGE: Final = 10.0


class Monitor(App[None]):
    """Jobs, slices, queues and what happened, redrawn in place."""

    CSS = """
    Screen { background: ansi_default; color: ansi_default; }
    #summary, #bottom { width: 100%; height: 1; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit"),
        Binding("ctrl+c", "interrupt", priority=True),
        Binding("ctrl+z", "suspend_process", priority=True),
        Binding("question_mark,h", "help"),
        Binding("slash", "filter"),
        Binding("escape", "all_rows"),
        Binding("s", "sort"),
        Binding("S", "turn"),
        Binding("m", "mine"),
        *(Binding(str(i), f"part('{part}')") for i, part in enumerate(PARTS, 1)),
        Binding("enter", "open"),
        Binding("l", "log"),
        Binding("x", "stop"),
        Binding("r", "resume"),
        Binding("p", "first"),
    ]

    def __init__(
        self,
        core: "Core",
        front: "Front",
        parts: Sequence[Part[Any]],
        *,
        choice: Choice,
        scope: Scope,
        every: float,
        **options: Any,  # noqa: ANN401 - Textual's own
    ) -> None:
        """Show a home.

        Args:
            core: the home.
            front: the words, the time and the colours.
            parts: all that can be shown.
            choice: what is shown at first.
            scope: which rows are.
            every: seconds between two looks, or more.
            options: for Textual.
        """
        super().__init__(ansi_color=True, **options)
        self.core = core
        self.front = front
        self.choice = choice
        self.scope = scope
        self.looking = Overview()
        #: It was ended by Ctrl-C.
        self.interrupted = False
        #: What ended it that was not expected.
        self.fault: Exception | None = None
        self._every = every
        self._feed = Feed(core)
        self._again = asyncio.Event()
        self._colours = front.paint("x", "red") != "x"
        self.grids = {part.name: Grid(part, colours=self._colours) for part in parts}
        self._summary = Static(id="summary")
        self._bottom = Static(Text(HINT, style="dim", no_wrap=True), id="bottom")
        self._trouble = ""
        self._said = 0.0

    def compose(self) -> ComposeResult:
        """Put the parts below one another."""
        yield self._summary
        yield from self.grids.values()
        yield self._bottom

    def on_mount(self) -> None:
        """Begin to look."""
        self.run_worker(self._watch(), exit_on_error=False)
        self.set_interval(1.0, self._tick)
        self._share()
        self._focus_first()

    # -- what is shown ---------------------------------------------------------------------

    async def _watch(self) -> None:
        """Look at the home without end."""
        try:
            while True:
                before = time.process_time()
                await self._look()
                wait = pause(self._every, time.process_time() - before)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._again.wait(), wait)
        except Exception as error:  # noqa: BLE001 - told where everything ends
            self.fault = error
            self.exit()

    async def _look(self) -> None:
        anyway = self._again.is_set()
        self._again.clear()
        try:
            found = await self._feed.look(anyway=anyway)
        except JobmanError as error:
            # It may be there again in a moment; what was seen last stays.
            self._set_trouble(f"cannot be read now: {lines_of(error)[0]}")
            return
        self._set_trouble("; ".join(self.core.warnings))
        if found is not None:
            self.looking = found
            self.show_all()

    def look_again(self) -> None:
        """Look now, at whatever may have changed."""
        self._again.set()

    def show_all(self) -> None:
        """Show what was seen last, as it is wished now."""
        now = self.front.now()
        for name, grid in self.grids.items():
            if name in self.choice.parts:
                order, turned = self._order(grid)
                items = grid.part.arrange(self.looking, self.scope, order, now, turned=turned)
                grid.show(items, (order, turned), now)
        self._share()
        self._show_summary()

    def _tick(self) -> None:
        """Let times go on."""
        now = self.front.now()
        if len(self.screen_stack) == 1:
            for name in self.choice.parts:
                self.grids[name].tick(now)
        if self._said and asyncio.get_running_loop().time() > self._said + _MESSAGE:
            self.say("")

    def on_resize(self) -> None:
        """Share another number of lines, once it is known."""
        self.call_after_refresh(self._share)
        self.call_after_refresh(self._show_summary)

    def _share(self) -> None:
        """Give each part its lines."""
        shown = [self.grids[name] for name in self.choice.parts]
        room = self.size.height - 2
        enough = [(min(grid.want, grid.part.enough), grid.part.weight) for grid in shown]
        lines = heights(room, enough)
        if sum(lines) < room:
            lines = heights(room, [(grid.want, grid.part.weight) for grid in shown])
        given = dict(zip(self.choice.parts, lines, strict=True))
        for name, grid in self.grids.items():
            if grid.styles.height is None or grid.styles.height.value != given.get(name, 0):
                grid.styles.height = given.get(name, 0)
            grid.display = name in given

    def _show_summary(self) -> None:
        if self._trouble:
            cells = [Cell(output.clean(self._trouble), "red")]
        elif self.looking.jobs:
            cells = summary(self.looking, self.scope)
        else:
            cells = [Cell("no jobs: `jobman create job.yaml` makes one")]
        if self.scope.words:
            cells.insert(0, Cell(f"filter: {output.clean(' '.join(self.scope.words))}", "bold"))
        if self.scope.user:
            cells.insert(0, Cell("mine", "bold"))
        texts = [
            (cell.text, style_of(cell.colour, colours=self._colours))
            for cell in joined(cells, self.size.width)
        ]
        shown = Text.assemble(*texts, no_wrap=True, end="")
        if shown != self._summary.content:
            self._summary.update(shown)

    def _set_trouble(self, text: str) -> None:
        if text != self._trouble:
            self._trouble = text
            self._show_summary()

    def say(self, text: str, colour: str = "") -> None:
        """Say something at the bottom for a while; nothing brings the keys back."""
        style = style_of(colour, colours=self._colours)
        shown = Text(output.clean(text), style=style) if text else Text(HINT, style="dim")
        shown.no_wrap = not text
        self._bottom.update(shown)
        lines = len(output.wrap(output.clean(text), max(self.size.width, 1))) if text else 1
        self._bottom.styles.height = min(lines, 4)
        self._said = asyncio.get_running_loop().time() if text else 0.0

    # -- keys ------------------------------------------------------------------------------

    @property
    def grid(self) -> Grid | None:
        """The part that the keys go to."""
        return self.focused if isinstance(self.focused, Grid) else None

    def _order(self, grid: Grid) -> tuple[str, bool]:
        usual = next(iter(grid.part.orders), "")
        return self.choice.orders.get(grid.part.name, (usual, False))

    def _focus_first(self) -> None:
        self.grids[self.choice.parts[0]].focus()

    def choose(self, choice: Choice) -> None:
        """Show other parts, or in another order."""
        self.choice = choice
        self.show_all()
        if self.grid is None or self.grid.part.name not in choice.parts:
            self._focus_first()

    def narrow(self, **changes: Any) -> None:  # noqa: ANN401 - of whatever the scope has
        """Show other rows."""
        self.scope = attrs.evolve(self.scope, **changes)
        self.show_all()

    def action_interrupt(self) -> None:
        """End as Ctrl-C ends every program."""
        self.interrupted = True
        self.exit()

    def action_part(self, part: str) -> None:
        """Show a part, or hide it."""
        self.choose(self.choice.switched(part))

    def action_sort(self) -> None:
        """Sort by the next column that one can sort by."""
        if self.grid is not None and (names := [*self.grid.part.orders]):
            order, _ = self._order(self.grid)
            index = names.index(order) + 1 if order in names else 0
            self.choose(
                self.choice.ordered(self.grid.part.name, names[index % len(names)], turned=False)
            )

    def action_turn(self) -> None:
        """Sort the other way round."""
        if self.grid is not None:
            order, turned = self._order(self.grid)
            self.choose(self.choice.ordered(self.grid.part.name, order, turned=not turned))

    def action_mine(self) -> None:
        """Show only one's own jobs, or everybody's."""
        self.narrow(user="" if self.scope.user else self.core.user)

    def action_filter(self) -> None:
        """Let somebody write which rows they mean."""
        hint = "only rows with these words; Enter keeps, Esc shows all"

        def written(text: str) -> None:
            self.narrow(words=tuple(text.casefold().split()))

        def done(text: str | None) -> None:
            written(text or "")

        self.push_screen(Prompt(hint, " ".join(self.scope.words), written), done)

    def action_all_rows(self) -> None:
        """Show all rows again."""
        self.narrow(words=())

    def action_help(self) -> None:
        """Say what the keys do."""
        self.push_screen(Pager("jobman monitor: keys", map(Text, TEXT.splitlines())))

    def action_open(self) -> None:
        """Show all about what the cursor stands on."""
        actions.open_(self)

    def action_log(self) -> None:
        """Follow its log."""
        actions.log(self)

    def action_stop(self) -> None:
        """Stop its job, after a question."""
        actions.stop(self)

    def action_resume(self) -> None:
        """Resume its job."""
        actions.resume(self)

    def action_first(self) -> None:
        """Put its task first."""
        actions.first(self)
