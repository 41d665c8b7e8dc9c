"""Buttons that change something: asked first, for ten minutes, by one person, and done once.

What a button carries is no secret and nothing that is trusted: whose it is, how old, and what the
things were when they were asked about. All of it is checked again when it is pressed, the rights as
well; that it was pressed is written down before anything is done.
"""

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import attrs

from jobman_core.app import App
from jobman_core.errors import InvalidInputError, JobmanError, is_bug, leaves
from jobman_slackbot import blocks, text
from jobman_slackbot.blocks import Block, View
from jobman_slackbot.commands.call import Call, one_line
from jobman_slackbot.errors import OldButtonError
from jobman_slackbot.grammar import MOST
from jobman_slackbot.people import Deed
from jobman_slackbot.views import words

#: The ids of its buttons.
DO: Final = "do"
DROP: Final = "drop"
#: How long a button is good.
GOOD_FOR: Final = timedelta(minutes=10)
#: Whose memory of the home has what was pressed.
_MEMORY: Final = "slack-actions"
#: So many at a time: a slow cloud must not make the last of many wait for all others.
_AT_ONCE: Final = 8
_SHOWN: Final = 200
_NOTE: Final = 400


@attrs.frozen
class Thing:
    """Something that is to be changed, as it is now."""

    id: str
    #: As it is told once it is changed; where the id says all, nothing.
    name: str
    #: As who is asked sees it.
    shown: str
    #: What it must still be when the button is pressed: each part with what to say if it is not.
    mark: str
    #: The jobman user whose it is; None: nobody's own.
    owner: str | None = None


@attrs.frozen
class Change:
    """A kind of change."""

    #: Of the table of commands.
    word: str
    deed: Deed
    #: ``Stop {}``, ``stopping {}``, ``stopped {}``: with what it is done to.
    title: str
    doing: str
    done: str
    #: What it means, for who is asked; begins with a verb.
    means: str
    #: What the things are: ``job``.
    noun: str
    #: Looks at one thing; what it is called, and where it is looked for.
    look: Callable[[Call, str, str], Awaitable[Thing]]
    #: Changes one, and says what became of it.
    act: Callable[[App, Thing, str], Awaitable[str]]
    #: It cannot be undone.
    danger: bool = False


@attrs.frozen
class Asked:
    """What a button carries."""

    word: str
    #: Where the things are: the key of a queue, or nothing.
    where: str
    #: Ids, each with the thing's mark.
    things: tuple[tuple[str, str], ...]
    #: The id of Slack of who asked.
    person: str
    #: Seconds since 1970.
    at: int
    #: Never the same.
    nonce: str

    def packed(self) -> str:
        """Give it as the value of a button."""
        return json.dumps(attrs.astuple(self), separators=(",", ":"))

    @classmethod
    def unpacked(cls, value: str) -> "Asked":
        """Read it.

        Raises:
            OldButtonError: nobody made such a button.
        """
        try:
            word, where, things, person, at, nonce = json.loads(value)
            marks = {str(name): str(mark) for name, mark in things}
            # What is no moment at all, or none that a float has room for, overflows.
            at = int(datetime.fromtimestamp(at, UTC).timestamp())
        except (ValueError, TypeError, OverflowError, OSError, RecursionError):
            raise OldButtonError from None
        if not 0 < len(marks) <= MOST:
            raise OldButtonError
        return cls(str(word), str(where), tuple(marks.items()), str(person), at, str(nonce))


async def ask(call: Call, change: Change, ids: Sequence[str], where: str = "") -> None:
    """Ask whether something is really to be done; what cannot be is told."""
    found, faults = await _look(call, change, ids, where)
    things = list({thing.id: thing for thing in found}.values())
    lines = [one_line(fault) for fault in faults]
    if not things:
        await call.answer(blocks.said(lines))
        return
    made = asked(call, change, things, where).packed()
    if not blocks.fits_button(made):
        msg = "that is too much for one button: ask for fewer at once"
        raise InvalidInputError(msg)
    await call.answer(question(change, things, made, lines))


def question(change: Change, things: Sequence[Thing], value: str, lines: Sequence[str]) -> View:
    """Give what is shown to who is asked.

    Args:
        change: what would be done.
        things: to what.
        value: what the button carries.
        lines: what else there is to say, in markup.
    """
    title = f"*{_title(change, things)}?* {'It' if len(things) == 1 else 'Each'} {change.means}."
    shown = [blocks.section(title)]
    named = [f"• {text.prose(thing.shown, _SHOWN)}" for thing in things]
    shown += blocks.sections([*named, *lines])
    return View(title, (*shown, buttons(change, things, value)))


def asked(call: Call, change: Change, things: Sequence[Thing], where: str = "") -> Asked:
    """Give what the button carries that does it."""
    return Asked(
        change.word,
        where,
        tuple((thing.id, thing.mark) for thing in things),
        call.person.id,
        int(call.now().timestamp()),
        secrets.token_urlsafe(9),
    )


def buttons(change: Change, things: Sequence[Thing], value: str) -> Block:
    """Give the buttons below a question."""
    title = _title(change, things)
    each = "it" if len(things) == 1 else "each"
    what = f"{words.joined([thing.shown for thing in things], 5)}: {each} {change.means}."
    style = "danger" if change.danger else "primary"
    sure = blocks.confirm(f"{title}?", what, "Yes", danger=change.danger)
    return blocks.actions(
        [
            blocks.button(title, DO, value, style=style, confirm=sure),
            blocks.button("Not now", DROP, "-"),
        ]
    )


class Once:
    """Remembers which buttons were pressed, for as long as they are good."""

    def __init__(self, app: App) -> None:
        """Keep the home, whose memory outlives this process."""
        self._app = app
        self._lock = asyncio.Lock()

    async def take(self, nonce: str, now: datetime) -> bool:
        """Write down that a button is pressed; False: it was before."""
        async with self._lock:
            pressed = await self._app.recall(_MEMORY)
            if nonce in pressed:
                return False
            over = (now - 2 * GOOD_FOR).timestamp()
            facts: dict[str, Any] = {old: None for old, at in pressed.items() if at < over}
            await self._app.remember(_MEMORY, {**facts, nonce: now.timestamp()})
            return True


async def press(call: Call, change: Change, given: Asked, once: Once) -> None:
    """Do what a button says, if that is still what was asked for."""
    if given.person != call.person.id:
        await call.beside("this button is somebody else's: write the command yourself")
        return
    age = call.now().timestamp() - given.at
    if not -GOOD_FOR.total_seconds() <= age <= GOOD_FOR.total_seconds():
        minutes = int(GOOD_FOR.total_seconds() // 60)
        await call.say(f"this button was good for {minutes} minutes: write the command again")
        return
    if not await once.take(given.nonce, call.now()):
        await call.beside("that button was pressed already")
        return
    found, faults = await _look(call, change, [name for name, _ in given.things], given.where)
    before = dict(given.things)
    things = [thing for thing in found if before.get(thing.id) == thing.mark]
    lines = [one_line(fault) for fault in faults]
    lines += [
        f":warning: {text.prose(thing.shown, _SHOWN)} has changed since: ask again"
        for thing in found
        if before.get(thing.id) != thing.mark
    ]
    if things:
        names = words.joined([_name(thing) for thing in things])
        await call.say(f"{change.doing.format(names)}…")
        await _act(call, change, things, given.where, lines)
    else:
        await call.answer(blocks.said(lines))


async def _act(
    call: Call, change: Change, things: Sequence[Thing], where: str, lines: list[str]
) -> None:
    """Change things, and say what became of them: all to who asked, what was done to all."""
    gate = asyncio.Semaphore(_AT_ONCE)
    app = call.app_for(change.deed)

    async def one(thing: Thing) -> str:
        async with gate:
            return await change.act(app, thing, where)

    results = await asyncio.gather(*map(one, things), return_exceptions=True)
    told: list[str] = []
    named: list[str] = []
    bugs: list[BaseException] = []
    for thing, result in zip(things, results, strict=True):
        if isinstance(result, str):
            named.append(_name(thing))
            note = f": {text.prose(result, _NOTE)}" if result else ""
            told.append(f"{change.done.format(_name(thing))}{note}")
        else:
            wrong = leaves(result)
            lines += [one_line(error) for error in wrong if not is_bug(error)]
            bugs += [error for error in wrong if is_bug(error)]
    shown = [*told, *lines]
    if shown:
        await call.answer(View(shown[0], tuple(blocks.sections(shown))))
    if told:
        did = told[0] if len(told) == 1 else change.done.format(words.joined(named, 20))
        await call.tell_all(f"{text.mrkdwn(call.user, 80)} {did}")
    for bug in bugs:
        raise bug


async def _look(
    call: Call, change: Change, ids: Sequence[str], where: str
) -> tuple[list[Thing], list[JobmanError]]:
    """Look at things, and make sure of the rights to change them; give what cannot be as well."""
    call.check(change.deed)
    found: list[Thing] = []
    faults: list[JobmanError] = []
    for name in ids:
        try:
            thing = await change.look(call, name, where)
            call.check(change.deed, thing.owner)
            found.append(thing)
        except JobmanError as error:
            faults.append(error)
    return found, faults


def _title(change: Change, things: Sequence[Thing]) -> str:
    what = change.noun if len(things) == 1 else f"{len(things)} {change.noun}s"
    return change.title.format(what)


def _name(thing: Thing) -> str:
    name = f" {text.mrkdwn(thing.name, 80)}" if thing.name else ""
    return f"{text.code(thing.id, 80)}{name}"
