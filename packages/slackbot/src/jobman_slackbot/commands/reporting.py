"""Reports: ``usage``, ``quota``, ``reap``."""

import hashlib
from datetime import timedelta
from typing import Final

from jobman_core.app import App
from jobman_core.errors import InvalidInputError
from jobman_core.models.reap import Dead, Fate, Reaped
from jobman_slackbot import actions
from jobman_slackbot.actions import Change, Thing
from jobman_slackbot.commands.call import Call
from jobman_slackbot.config import ReapMode
from jobman_slackbot.errors import OldButtonError
from jobman_slackbot.grammar import Arguments
from jobman_slackbot.people import Deed
from jobman_slackbot.views import reports, words

_SPANS: Final = {
    "day": (timedelta(days=1), "the last 24 hours"),
    "week": (timedelta(days=7), "the last 7 days"),
}
_ALL: Final = "all"
_OURS: Final = "ours"
#: What the one thing is called that a reaping changes.
_DEAD: Final = "dead"


async def usage(call: Call, given: Arguments) -> None:
    """Show what was used, and hand over a chart of it."""
    long, span = _SPANS[given.one("span") or "day"]
    mine = given.one("whose") is not None
    if mine and call.person.user is None:
        msg = "you have no jobs here: bot.yaml names no jobman user for you"
        raise InvalidInputError(msg)
    now = call.now()
    by = "accelerator" if mine else "user"
    found = await call.app.usage(now - long, now, by=by, mine=mine)
    await call.answer(reports.usage(found, span, whose=call.user if mine else ""))
    if found.shares:
        chart = await call.app.chart(found)
        await call.hand(f"usage-{now:%Y-%m-%d}.png", chart, f"Usage, {span}")


async def quota(call: Call, _given: Arguments) -> None:
    """Show what the accounts of the home hold."""
    await call.answer(reports.quota(await call.app.quota()))


async def reap(call: Call, _given: Arguments) -> None:
    """Show what is dead, and ask whether it is to be deleted."""
    found = await _dry_run(call)
    due = _due(found)
    if not due:
        await call.answer(reports.reaped(found, call.now()))
        return
    thing = _thing(due)
    value = actions.asked(call, REAP, [thing], _whose(call)).packed()
    below = [actions.buttons(REAP, [thing], value)]
    await call.answer(reports.reaped(found, call.now(), more=below))


def _whose(call: Call) -> str:
    """Say what may be deleted, as ``bot.yaml`` has it: what this home made, or all."""
    return _ALL if call.bot.config.reap is ReapMode.ALL else _OURS


async def _dry_run(call: Call) -> Reaped:
    app = call.app_for(Deed.REAP)
    return await app.reap(dry_run=True, all=_whose(call) == _ALL)


def _due(found: Reaped) -> list[Dead]:
    return [one for one in found.found if one.fate is Fate.DUE]


def _thing(due: list[Dead]) -> Thing:
    """Give all that is due as one thing, which differs once any of it does."""
    names = sorted(f"{one.cloud}/{one.project}/{one.zone}/{one.name} {one.since}" for one in due)
    mark = hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]
    return Thing(_DEAD, "", words.joined([one.name for one in due], 5), mark)


async def _look(call: Call, _name: str, whose: str) -> Thing:
    if whose != _whose(call):
        raise OldButtonError
    return _thing(_due(await _dry_run(call)))


async def _reap(app: App, _thing: Thing, whose: str) -> str:
    found = (await app.reap(all=whose == _ALL)).found
    deleted = [one.name for one in found if one.fate is Fate.DELETED]
    refused = [f"{one.name}: {one.trouble}" for one in found if one.fate is Fate.REFUSED]
    told = [words.joined(deleted) or "nothing"]
    if refused:
        told.append(f"not deleted: {words.joined(refused)}")
    return "; ".join(told)


REAP: Final = Change(
    word="reap",
    deed=Deed.REAP,
    title="Delete {}",
    doing="deleting what is dead",
    done="deleted what was dead",
    means="is deleted at the cloud for good",
    noun="what is dead",
    look=_look,
    act=_reap,
    danger=True,
)
