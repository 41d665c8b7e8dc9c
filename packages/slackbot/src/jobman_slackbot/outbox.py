"""Messages that are posted once, whatever is killed, or lost on the way, in between.

A message is written down before it is posted, in one transaction with what its writer has to
remember, and so is what became of it. Of one that was to be posted, and of which no more is known,
the channel itself is asked: every message carries a number of its own as metadata.
"""

import asyncio
import hashlib
import json
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import attrs

from jobman_core.app import App
from jobman_core.errors import JobmanError
from jobman_slackbot import blocks
from jobman_slackbot.errors import NO_CHANGE, NO_MESSAGE, NO_PLACE, NO_TOKEN, SlackError
from jobman_slackbot.slack import Answer, Slack

#: Whose memory it is, in the home.
WHO: Final = "slack"
EVENT_TYPE: Final = "jobman_notice"
#: For so long messages are known, and can be brought up to date.
KEPT: Final = timedelta(days=7)
#: By so much Slack's clock and ours may differ.
_SKEW: Final = timedelta(days=1)
#: Seconds between two tries of what is left over.
_AGAIN: Final = 30.0
#: Numbers of events that a message carries: Slack takes no metadata of any length.
_CARRIED: Final = 500

_LOG: Final = logging.getLogger(__name__)


@attrs.frozen
class Draft:
    """A message as it is to stand in Slack; another one of the same key takes its place there."""

    key: str
    #: A channel, or a person.
    to: str
    text: str
    blocks: Sequence[Mapping[str, Any]] = ()
    #: The events that it tells of.
    events: Sequence[int] = ()
    #: Stands in front where it goes to the channel because the person cannot be reached.
    preface: str = ""
    #: There is more in it than how it goes on with what was told: where that message cannot be
    #: changed, a new one is posted.
    news: bool = False


@attrs.frozen
class Place:
    """Where a message stands."""

    channel: str
    stamp: str


class Outbox:
    """Posts messages, and brings them up to date."""

    def __init__(
        self, app: App, slack: Slack, channel: str, now: Callable[[], datetime] | None = None
    ) -> None:
        """Take what it works with.

        Args:
            app: the home that remembers.
            slack: posts.
            channel: where goes what cannot be told to a person.
            now: the wall clock.
        """
        self._app = app
        self._slack = slack
        self._channel = channel
        self.now = now or (lambda: datetime.now(UTC))
        self._lock = asyncio.Lock()
        #: What was written down by this process and not tried yet: nobody can have posted it.
        self._untried: set[str] = set()
        self._pruned: datetime | None = None
        #: Why messages wait, as far as the log has it.
        self._troubles: set[str] = set()

    async def waiting(self) -> set[str]:
        """Give the keys of messages that do not stand in Slack yet as they should."""
        return {key.partition("/")[2] for key in await self._recall("due/")}

    async def send(self, drafts: Sequence[Draft], facts: Mapping[str, Any] | None = None) -> None:
        """Write messages down, with what their writer remembers, and bring Slack into line.

        Raises:
            SlackError: not all stands in Slack as it should, but all is written down; the next
                call goes on with the rest.
            StoreError: nothing is written down.
        """
        async with self._lock:
            due = await self._recall("due/")
            rows = {f"due/{draft.key}": self._row(draft, due) for draft in drafts}
            written = {**(facts or {}), **rows}
            if written:
                await self._app.remember(WHO, written)
            self._untried |= rows.keys() - due.keys()
            await self._flush()
            self._troubles.clear()

    async def run(self, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """Post what is left over, again and again: nobody else may come to do it."""
        while True:
            try:
                await self.send(())
            except JobmanError as error:
                _LOG.debug("messages wait: %s", error)
            await sleep(_AGAIN)

    async def place(self, key: str) -> Place | None:
        """Say where a message stands; None: nowhere yet, or it was taken away."""
        sent = (await self._recall(f"sent/{key}")).get(f"sent/{key}")
        return Place(sent["channel"], sent["stamp"]) if sent and sent["stamp"] else None

    def _row(self, draft: Draft, due: Mapping[str, Any]) -> dict[str, Any]:
        """Write a draft down; one that was tried stays the same message."""
        old = due.get(f"due/{draft.key}", {})
        return {
            "number": old.get("number") or uuid.uuid4().hex,
            "at": old.get("at") or self.now().isoformat(),
            "to": draft.to,
            "moved": old.get("moved", False),
            "text": draft.text,
            "blocks": list(draft.blocks),
            "events": list(draft.events)[:_CARRIED],
            "preface": draft.preface,
            "news": draft.news or old.get("news", False),
        }

    # -- bringing Slack into line ----------------------------------------------------------

    async def _flush(self) -> None:
        await self._prune()
        trouble: SlackError | None = None
        for name, row in (await self._recall("due/")).items():
            try:
                await self._settle(name.partition("/")[2], row)
            except SlackError as error:
                if error.lasting:
                    self._complain(error)
                if not error.lasting or error.code in NO_TOKEN:
                    raise
                # What Slack says of one message, or of its place, says little of the others.
                trouble = trouble or error
        if trouble:
            raise trouble

    def _complain(self, error: SlackError) -> None:
        """Say once that something has to be done, however often it is tried."""
        if str(error) not in self._troubles:
            self._troubles.add(str(error))
            _LOG.warning("a message waits, and is tried again: %s", error)

    async def _settle(self, key: str, row: dict[str, Any]) -> None:
        sent = (await self._recall(f"sent/{key}")).get(f"sent/{key}")
        if sent is None:
            sent = await self._found(key, row)
        if sent is None:
            sent = await self._post(key, row)
        else:
            if sent["stamp"] and sent["says"] != _says(row):
                sent = await self._update(sent, {**row, "moved": sent["moved"]})
            if not sent["stamp"] and row["news"]:
                sent = await self._post(key, await self._afresh(key, row))
        await self._app.remember(WHO, {f"sent/{key}": sent, f"due/{key}": None})

    async def _afresh(self, key: str, row: dict[str, Any]) -> dict[str, Any]:
        """Make another message of one that cannot be changed any more."""
        # Its number stands in no message yet.
        row = {**row, "news": False}
        await self._app.remember(WHO, {f"sent/{key}": None, f"due/{key}": row})
        self._untried.add(f"due/{key}")
        return row

    async def _post(self, key: str, row: dict[str, Any]) -> dict[str, Any]:
        """Post a message of which it is certain that it stands nowhere."""
        self._untried.discard(f"due/{key}")
        try:
            channel = await self._channel_of(row)
            stamp = await self._slack.post(channel, *_shown(row), metadata=_metadata(row))
        except SlackError as error:
            other = self._otherwise(error, row)
            if other is None:
                raise
            if not other:
                return self._sent(row, "", "")
            await self._app.remember(WHO, {f"due/{key}": other})
            self._untried.add(f"due/{key}")
            return await self._post(key, other)
        return self._sent(row, channel, stamp)

    def _otherwise(self, error: SlackError, row: dict[str, Any]) -> dict[str, Any] | None:
        """Give what to post instead of what was refused; nothing in it: no more can be done.

        None: the trouble is not with this message.
        """
        elsewhere = not row["moved"] and row["to"] != self._channel
        # To write to people takes a right of its own, which the app may lack.
        if elsewhere and error.code in {*NO_PLACE, "missing_scope"}:
            _LOG.warning("%s cannot be told, %s is: %s", row["to"], self._channel, error)
            return {**row, "moved": True}
        if error.code in NO_MESSAGE and row["blocks"]:
            _LOG.warning("a message goes as plain text: %s", error)
            return {**row, "blocks": []}
        if error.code in NO_MESSAGE:
            _LOG.error("a message is left out, about events %s: %s", row["events"], error)
            return {}
        return None

    async def _update(self, sent: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
        """Bring a message up to date; one that people took away stays away."""
        try:
            await self._slack.update(
                sent["channel"], sent["stamp"], *_shown(row), metadata=_metadata(row)
            )
        except SlackError as error:
            if error.code in NO_CHANGE | NO_PLACE | NO_MESSAGE:
                _LOG.info("a message is not brought up to date: %s", error)
                return {**sent, "stamp": ""}
            raise
        return {**sent, "says": _says(row)}

    async def _found(self, key: str, row: dict[str, Any]) -> dict[str, Any] | None:
        """Look for a message that may have been posted; None: it stands nowhere."""
        if f"due/{key}" in self._untried:
            return None
        oldest = datetime.fromisoformat(row["at"]) - _SKEW

        def fits(message: Answer) -> bool:
            return bool(_carried(message).get("number") == row["number"])

        try:
            channel = await self._channel_of(row)
            found = await self._slack.seek(channel, f"{oldest.timestamp():.6f}", fits)
        except SlackError as error:
            if error.code in NO_PLACE:
                return None
            if error.code == "missing_scope":
                _LOG.warning("a message may come twice, for the channel cannot be read: %s", error)
                return None
            raise
        if found is None:
            return None
        return {**self._sent(row, channel, found["ts"]), "says": _carried(found).get("says", "")}

    async def _channel_of(self, row: Mapping[str, Any]) -> str:
        to = str(self._channel if row["moved"] else row["to"])
        return await self._slack.direct(to) if to.startswith(("U", "W")) else to

    def _sent(self, row: dict[str, Any], channel: str, stamp: str) -> dict[str, Any]:
        return {
            "at": self.now().isoformat(),
            "moved": row["moved"],
            "channel": channel,
            "stamp": stamp,
            "says": _says(row),
        }

    async def _prune(self) -> None:
        """Forget what is older than anybody changes."""
        now = self.now()
        if self._pruned and abs(now - self._pruned) < timedelta(hours=1):
            return
        self._pruned = now
        old = [
            key
            for key, sent in (await self._recall("sent/")).items()
            if now - datetime.fromisoformat(sent["at"]) > KEPT
        ]
        if old:
            await self._app.remember(WHO, dict.fromkeys(old))

    async def _recall(self, prefix: str) -> dict[str, Any]:
        return dict(await self._app.recall(WHO, prefix=prefix))


def _carried(message: Answer) -> Mapping[str, Any]:
    """Give what a message carries of ours; of other people's there is nothing."""
    carried: Mapping[str, Any] = message.get("metadata", {}).get("event_payload", {})
    return carried


def _metadata(row: Mapping[str, Any]) -> dict[str, Any]:
    """Give what a message carries for programs."""
    carried = {"number": row["number"], "says": _says(row), "events": row["events"]}
    return {"event_type": EVENT_TYPE, "event_payload": carried}


def _shown(row: Mapping[str, Any]) -> tuple[str, Sequence[Mapping[str, Any]]]:
    """Give what people see of a message."""
    if row["moved"]:
        preface = [blocks.section(row["preface"])] if row["preface"] and row["blocks"] else []
        return f"{row['preface']}{row['text']}", [*preface, *row["blocks"]]
    return row["text"], row["blocks"]


def _says(row: Mapping[str, Any]) -> str:
    """Give a mark of what a message says, by which one that is up to date is left alone."""
    said = json.dumps([row["text"], row["blocks"]])
    return hashlib.sha256(said.encode()).hexdigest()[:16]
