"""Socket Mode: envelopes over WebSockets, each to be acknowledged."""

import asyncio
import contextlib
import json
import time
import uuid
from typing import Any

import attrs
from aiohttp import WSMsgType, web
from tests.support.slack.world import APP

Json = dict[str, Any]


@attrs.define(eq=False)
class Envelope:
    """Something sent to an app, and what came of it."""

    kind: str
    payload: Json
    id: str = attrs.field(factory=lambda: str(uuid.uuid4()))
    #: When it was first sent, on this machine's monotonic clock.
    at: float = attrs.field(factory=time.monotonic)
    #: How often it was sent.
    sent: int = 0
    #: Seconds until it was acknowledged.
    acked_after: float | None = None
    #: What came with the acknowledgement.
    answer: Json | None = None
    #: The word that the person sees when nobody answers: ``operation_timeout``.
    failed: str | None = None
    _done: asyncio.Event = attrs.field(factory=asyncio.Event)

    def acknowledge(self, answer: Json | None) -> None:
        if self.acked_after is None:
            self.acked_after, self.answer = time.monotonic() - self.at, answer
            self._done.set()

    async def acknowledged(self, limit: float) -> bool:
        """Whether it is within this many seconds."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._done.wait(), limit)
        return self.acked_after is not None


class Sockets:
    """The connections of an app, each envelope to one of them."""

    #: Seconds in which an envelope has to be acknowledged.
    patience = 3.0
    #: How often what was not acknowledged is sent again.
    retries = 1
    #: Whether each envelope is sent twice.
    twice = False

    def __init__(self) -> None:
        self.open: list[web.WebSocketResponse] = []
        self.envelopes: list[Envelope] = []
        #: How many connections there have been.
        self.opened = 0
        self._tickets: set[str] = set()
        self._triggers: dict[str, float] = {}
        self._turn = 0

    def ticket(self, url: str) -> str:
        """Where to connect, once."""
        found = uuid.uuid4().hex
        self._tickets.add(found)
        return f"{url.replace('http', 'ws', 1)}/link/?ticket={found}&app_id={APP}"

    def trigger(self) -> str:
        """For one modal, within three seconds."""
        found = f"{time.time():.3f}.{uuid.uuid4().hex}"
        self._triggers[found] = time.monotonic()
        return found

    def spend(self, trigger: str) -> bool:
        at = self._triggers.pop(trigger, None)
        return at is not None and time.monotonic() - at < 3

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """One connection, from hello to its end."""
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            return web.Response(status=404)
        self._tickets.remove(ticket)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.open.append(socket)
        self.opened += 1
        hello = {"type": "hello", "num_connections": len(self.open)}
        await socket.send_json({**hello, "connection_info": {"app_id": APP}})
        try:
            async for message in socket:
                if message.type == WSMsgType.TEXT:
                    self._take(json.loads(message.data))
        finally:
            self.open.remove(socket)
        return socket

    def _take(self, answer: Json) -> None:
        for envelope in self.envelopes:
            if envelope.id == answer.get("envelope_id"):
                envelope.acknowledge(answer.get("payload"))

    async def send(self, kind: str, payload: Json) -> Envelope:
        """Send an envelope and see it acknowledged; what is not, is sent again."""
        envelope = Envelope(kind, payload)
        self.envelopes.append(envelope)
        for retry in range(self.retries + 1):
            sent = False
            for _ in range(2 if self.twice else 1):
                sent |= await self._deliver(envelope, retry)
            if not sent:
                envelope.failed = "dispatch_failed"
                return envelope
            if await envelope.acknowledged(self.patience):
                return envelope
        envelope.failed = "operation_timeout"
        return envelope

    async def again(self, envelope: Envelope) -> None:
        """Send it once more, whatever was said to it."""
        await self._deliver(envelope, 1)

    async def _deliver(self, envelope: Envelope, retry: int) -> bool:
        """Give it to one of the connections, in turn."""
        for _ in range(len(self.open)):
            self._turn += 1
            socket = self.open[self._turn % len(self.open)]
            document: Json = {"envelope_id": envelope.id, "type": envelope.kind}
            document["payload"] = envelope.payload
            if retry:
                document |= {"retry_attempt": retry, "retry_reason": "timeout"}
            with contextlib.suppress(ConnectionError):
                await socket.send_json({**document, "accepts_response_payload": True})
                envelope.sent += 1
                return True
        return False

    async def drop(self) -> None:
        """Cut every connection, with no word."""
        for socket in list(self.open):
            transport = socket._req.transport if socket._req is not None else None
            if transport is not None:
                transport.abort()

    async def refresh(self) -> None:
        """Ask the app to connect anew, as Slack does every few hours, and close what is open."""
        for socket in list(self.open):
            await socket.send_json({"type": "disconnect", "reason": "refresh_requested"})
            await socket.close()
