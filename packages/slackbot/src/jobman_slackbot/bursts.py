"""Which notices make one message, and what it says: pure.

What comes together is one message, by kinds where it is much. How it goes on with something is told
in the message that told of it, where that is no worse: an edit wakes nobody up.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Self

import attrs

from jobman_core.models.notice import Notice, NoticeKind
from jobman_slackbot import text
from jobman_slackbot.views import words

#: So many messages a channel gets of one kind within a while; more of it joins the last of them.
MOST: Final = 3
WHILE: Final = timedelta(minutes=10)
#: After so long a message has scrolled away, and what is new of it is told afresh.
FRESH: Final = timedelta(hours=12)
#: Things of one kind that are shown, a line each; of others there is the number.
SHOWN: Final = 10
#: So many things are few: they need no heading.
FEW: Final = 4
_LONGEST: Final = 300

#: What stands in front of a kind's lines, and how a heading calls it. The worst first.
_WORDS: Final[Mapping[NoticeKind, tuple[str, str]]] = {
    NoticeKind.FAILED: (":x:", "failed"),
    NoticeKind.PREFIX_FAILED: (":x:", "failed to prepare"),
    NoticeKind.UNREACHABLE: (":grey_question:", "unreachable"),
    NoticeKind.STUCK: (":hourglass:", "waiting for long"),
    NoticeKind.PREEMPTED: (":zap:", "preempted"),
    NoticeKind.RECOVERED: (":white_check_mark:", "recovered"),
    NoticeKind.FINISHED: (":checkered_flag:", "finished"),
    NoticeKind.REAPED: (":wastebasket:", "reaped"),
}


@attrs.frozen
class Thing:
    """What is told of one thing."""

    kind: NoticeKind
    at: datetime
    #: Empty: there are enough of its kind without it.
    text: str
    #: Seconds after which it had recovered.
    after: float | None = None


@attrs.define
class Burst:
    """What one message tells of."""

    key: str
    #: A channel, or a person.
    to: str
    #: When it was first told.
    at: datetime
    things: dict[str, Thing] = attrs.field(factory=dict)
    events: list[int] = attrs.field(factory=list)
    #: Something was added since it was last looked at, beside how it goes on with what it told.
    grown: bool = attrs.field(default=False, init=False, eq=False)
    _kinds: Counter[NoticeKind] = attrs.field(factory=Counter, init=False)

    def __attrs_post_init__(self) -> None:
        """Count what there is of each kind."""
        self._kinds.update(thing.kind for thing in self.things.values())

    def add(self, notice: Notice) -> None:
        """Tell of a notice as well."""
        about = notice.about
        if about in self.things:
            # The same thing with other news: both are told, each with its own line.
            about = f"{about} #{notice.event}"
        few = self._kinds[notice.kind] < SHOWN
        shown = text.mrkdwn(notice.text, _LONGEST) if few else ""
        self.things[about] = Thing(notice.kind, notice.at, shown)
        self._kinds[notice.kind] += 1
        self.events.append(notice.event)
        self.grown = True

    def go_on(self, notice: Notice) -> None:
        """Tell how it goes on with something that this tells of."""
        thing = self.things[notice.about]
        if notice.kind is NoticeKind.RECOVERED:
            after = max((notice.at - thing.at).total_seconds(), 0.0)
            thing = attrs.evolve(thing, after=after)
        elif thing.text:
            thing = attrs.evolve(thing, text=text.mrkdwn(notice.text, _LONGEST))
        self.things[notice.about] = thing
        self.events.append(notice.event)

    def tells_of(self, kind: NoticeKind) -> bool:
        """Tell whether there is anything of a kind in it."""
        return self._kinds[kind] > 0

    def goes_on(self, notice: Notice) -> bool:
        """Tell whether a notice is the good end of something that this tells of, or no worse."""
        thing = self.things.get(notice.about)
        return (
            thing is not None
            and thing.after is None
            and notice.kind in (NoticeKind.RECOVERED, thing.kind)
        )

    def to_json(self) -> dict[str, Any]:
        """Give it for the home's memory."""
        things = {
            about: [thing.kind.value, thing.at.isoformat(), thing.text, thing.after]
            for about, thing in self.things.items()
        }
        return {
            "to": self.to,
            "at": self.at.isoformat(),
            "things": things,
            "events": self.events,
        }

    @classmethod
    def from_json(cls, key: str, kept: Mapping[str, Any]) -> Self:
        """Read what was remembered."""
        things = {
            about: Thing(NoticeKind(kind), datetime.fromisoformat(at), said, after)
            for about, (kind, at, said, after) in kept["things"].items()
        }
        at = datetime.fromisoformat(kept["at"])
        return cls(key, kept["to"], at, things, list(kept["events"]))


def absorb(
    known: Iterable[Burst],
    notices: Sequence[Notice],
    address: Callable[[Notice], str],
    now: datetime,
    waiting: Callable[[str], bool],
) -> Sequence[Burst]:
    """Put notices into messages; gives those that are new, or say something else now.

    Args:
        known: what was told, oldest first; what is joined to one of them changes it.
        notices: what is to be told; those that were told are passed over.
        address: says whom a notice goes to.
        now: the moment.
        waiting: says of a burst's key whether it does not stand in Slack yet.
    """
    bursts = [*known]
    for each in bursts:
        each.grown = False
    told = {event for burst in bursts for event in burst.events}
    changed: dict[str, Burst] = {}
    for notice in notices:
        if notice.event in told:
            continue
        told.add(notice.event)
        to = address(notice)
        theirs = [burst for burst in bursts if burst.to == to]
        burst = next((b for b in reversed(theirs) if b.goes_on(notice)), None)
        if burst is not None and now - burst.at < FRESH:
            burst.go_on(notice)
        else:
            burst = _open(theirs, notice.kind, now, waiting)
            if burst is None:
                burst = Burst(f"news/{notice.event:012d}/{to}", to, now)
                bursts.append(burst)
            burst.add(notice)
        changed[burst.key] = burst
    return [*changed.values()]


def _open(
    theirs: Sequence[Burst], kind: NoticeKind, now: datetime, waiting: Callable[[str], bool]
) -> Burst | None:
    """Give the message that more of a kind can be added to; None: a new one is to be made."""
    if not theirs:
        return None
    if theirs[-1].at == now or waiting(theirs[-1].key):
        return theirs[-1]
    alike = [b for b in theirs if abs(now - b.at) < WHILE and b.tells_of(kind)]
    return alike[-1] if len(alike) >= MOST else None


def render(burst: Burst) -> str:
    """Give what a message says, in Slack's markup."""
    things = [*burst.things.values()]
    if len(things) <= FEW:
        return "\n".join(f"{_WORDS[thing.kind][0]} {_line(thing)}" for thing in things)
    kinds = {thing.kind for thing in things}
    return "\n".join(_of_kind(kind, things) for kind in _WORDS if kind in kinds)


def _of_kind(kind: NoticeKind, things: Sequence[Thing]) -> str:
    alike = [thing for thing in things if thing.kind is kind]
    sign, word = _WORDS[kind]
    well = sum(thing.after is not None for thing in alike)
    since = f", {'all' if well == len(alike) else well} recovered since" if well else ""
    lines = [f"• {_line(thing)}" for thing in alike if thing.text]
    rest = len(alike) - len(lines)
    more = [f"and {rest:,} more"] if rest else []
    return "\n".join([f"{sign} *{len(alike):,} {word}*{since}", *lines, *more])


def _line(thing: Thing) -> str:
    if thing.after is None:
        return thing.text
    return f"{thing.text}: *recovered after {words.span(thing.after)}*"
