"""The loopback Slack: a server on 127.0.0.1, and what people do at its other end."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Any, Self, TypeVar

from aiohttp import web
from tests.support.slack import chat, files, lookups, people
from tests.support.slack.sockets import Envelope, Sockets
from tests.support.slack.table import METHODS
from tests.support.slack.trouble import ApiError, Rate, Trouble, Troubles
from tests.support.slack.world import Message, World

Json = dict[str, Any]
#: They enter their methods into the table.
_PARTS = (chat, files, lookups)
_T = TypeVar("_T")

BOT_TOKEN = "xoxb-1111-2222-loopback"
APP_TOKEN = "xapp-1-A00LOOP00-3333-loopback"
#: What the app may do, unless a test takes something away.
SCOPES = (
    "app_mentions:read",
    "channels:history",
    "channels:join",
    "channels:read",
    "chat:write",
    "commands",
    "files:read",
    "files:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:read",
    "im:write",
    "users:read",
    "users:read.email",
)


class LoopbackSlack:
    """Slack, as far as a bot in Socket Mode can tell.

    ``url`` is its address, ``env`` what a bot finds it by::

        async with LoopbackSlack() as slack:
            ada = slack.world.person("ada")
            lab = slack.world.channel("lab")
            ...  # the bot connects
            await slack.connected()
            answer = await slack.ask(ada, lab, "/jobman list")
            await slack.press(ada, answer, "stop")
    """

    def __init__(self) -> None:
        self.world = World()
        self.sockets = Sockets()
        self.troubles = Troubles()
        self.rate = Rate()
        self.scopes = set(SCOPES)
        #: Tokens that are taken; a test may revoke one.
        self.bot_tokens, self.app_tokens = {BOT_TOKEN}, {APP_TOKEN}
        #: Each call: method, arguments, what was answered.
        self.calls: list[tuple[str, Json, Json]] = []
        #: What Slack would have refused, in its words.
        self.violations: list[str] = []
        #: How often it was asked for more than it takes.
        self.throttled = 0
        #: Uploads that have an address and no content yet.
        self.uploads: dict[str, Json] = {}
        self.hooks = people.Hooks()
        self._port = 0
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def env(self) -> dict[str, str]:
        """The environment of a bot that talks to it."""
        return {
            "SLACK_API_URL": f"{self.url}/api/",
            "SLACK_BOT_TOKEN": BOT_TOKEN,
            "SLACK_APP_TOKEN": APP_TOKEN,
        }

    async def __aenter__(self) -> Self:
        await self.come_back()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.go_down()

    async def come_back(self) -> None:
        """Serve, at the port of before."""
        app = web.Application(client_max_size=64 * 1024**2)
        app.router.add_get("/link/", self.sockets.serve)
        app.router.add_route("*", "/api/{method}", self._call)
        app.router.add_post("/upload/{file}", self._upload)
        app.router.add_post("/hook/{hook}", self._hook)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True)
        await site.start()
        self._port = self._runner.addresses[0][1]

    async def go_down(self) -> None:
        """Refuse connections, and cut those that are."""
        if self._runner is not None:
            await self.sockets.drop()
            await self._runner.cleanup()
            self._runner = None

    @contextlib.asynccontextmanager
    async def down(self) -> AsyncIterator[None]:
        """Be away for a while."""
        await self.go_down()
        try:
            yield
        finally:
            await self.come_back()

    def trouble(self, method: str, **what: Any) -> Trouble:
        """Make the next calls of a method (``*``: of any) go wrong, see :class:`Trouble`."""
        found = Trouble(method, **what)
        self.troubles.waiting.append(found)
        return found

    async def wait_for(
        self, condition: Callable[[], _T | None], *, limit: float = 20, what: str = "it"
    ) -> _T:
        """What a condition gives once it gives something true."""
        end = time.monotonic() + limit
        while True:
            found = condition()
            if found:
                return found
            if time.monotonic() > end:
                raise AssertionError(f"waited {limit} s for {what}; people see:\n{self.seen()}")
            await asyncio.sleep(0.02)

    async def connected(self, count: int = 1, *, limit: float = 30) -> None:
        """Wait until there are so many connections."""
        await self.wait_for(
            lambda: len(self.sockets.open) >= count, limit=limit, what=f"{count} connections"
        )

    def seen(self) -> str:
        """All that anybody sees, as text."""
        return "\n".join(
            f"#{self.world.channels[m.channel].name}"
            f"{f' (only {m.only_to})' if m.only_to else ''} <{m.user}> {m.plain}"
            for m in self.world.messages()
            if not m.deleted
        )

    def read(self, channel: str, user: str | None = None) -> list[Message]:
        """What stands in a channel for everybody, and for this user."""
        return [m for m in self.world.channels[channel].messages if m.seen_by(user or "")]

    async def command(self, user: str, channel: str, text: str) -> Envelope:
        """Type a slash command; returns once it is acknowledged, or Slack gave up."""
        return await people.command(self, user, channel, text)

    async def ask(self, user: str, channel: str, text: str, *, limit: float = 20) -> Message:
        """Type a slash command and wait for the first message that this person then sees."""
        before = set(map(id, self.world.messages()))
        envelope = await self.command(user, channel, text)
        assert envelope.failed is None, f"{text}: {envelope.failed}"
        return await self.fresh(user, before, limit=limit, what=f"an answer to {text}")

    async def fresh(
        self, user: str, before: set[int], *, limit: float = 20, what: str = "a new message"
    ) -> Message:
        """The first message to or before this person that is not of these."""
        return await self.wait_for(
            lambda: next(
                (
                    m
                    for m in self.world.messages()
                    if id(m) not in before
                    and m.seen_by(user)
                    and user in self.world.channels[m.channel].members
                ),
                None,
            ),
            limit=limit,
            what=what,
        )

    async def press(self, user: str, message: Message, action: str, **how: Any) -> Envelope:
        """Press a button (by its action id or its text), or choose: see :func:`people.press`."""
        return await people.press(self, user, message, action, **how)

    async def submit(self, user: str, view: Json, values: Json) -> Envelope:
        """Send a modal off, with values by the action ids of its inputs."""
        return await people.submit(self, user, view, values)

    async def say(self, user: str, channel: str, text: str) -> Envelope:
        """Write a message."""
        return await people.say(self, user, channel, text)

    async def _call(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        args = await _arguments(request)
        trouble = self.troubles.take(method)
        if trouble is not None:
            await asyncio.sleep(trouble.delay)
            if trouble.status == 429:
                return self._slow_down(trouble.retry_after)
            if trouble.status is not None:
                return web.Response(status=trouble.status, text="upstream is not well")
        try:
            refused = trouble.error if trouble is not None else None
            answer: Json = {"ok": True, **self._do(method, request, args, refused)}
        except ApiError as error:
            if error.error == "ratelimited":
                return self._slow_down(int(str(error.more["retry_after"])))
            answer = {"ok": False, "error": error.error, **error.more}
        self.calls.append((method, args, answer))
        if trouble is not None:
            await asyncio.sleep(trouble.answer_after)
            if trouble.lost and request.transport is not None:
                request.transport.abort()
        return web.json_response(answer, headers={"x-oauth-scopes": ",".join(sorted(self.scopes))})

    def _do(self, method: str, request: web.Request, args: Json, refused: str | None) -> Json:
        if refused is not None:
            raise ApiError(refused)
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        token = token or str(args.get("token", ""))
        if method not in METHODS:
            raise ApiError("unknown_method")
        scopes, does = METHODS[method]
        wants_app = method == "apps.connections.open"
        if token not in (self.app_tokens if wants_app else self.bot_tokens):
            known = token in self.app_tokens | self.bot_tokens
            raise ApiError("not_allowed_token_type" if known else "invalid_auth")
        if scopes and not self.scopes.intersection(scopes):
            needed, provided = ",".join(scopes), ",".join(sorted(self.scopes))
            raise ApiError("missing_scope", needed=needed, provided=provided)
        return does(self, args)

    def _slow_down(self, seconds: int) -> web.Response:
        self.throttled += 1
        return web.json_response(
            {"ok": False, "error": "ratelimited"},
            status=429,
            headers={"Retry-After": str(seconds)},
        )

    async def _upload(self, request: web.Request) -> web.Response:
        content = await request.read()
        if request.content_type.startswith("multipart/"):
            self.violations.append("upload: the content is the body, not a form")
        fault = files.new_file(self, request.match_info["file"], content)
        return web.Response(status=400 if fault else 200, text=fault or f"OK - {len(content)}")

    async def _hook(self, request: web.Request) -> web.Response:
        return people.answer(self, request.match_info["hook"], await request.json())


async def _arguments(request: web.Request) -> Json:
    found: Json = dict(request.query)
    if request.content_type == "application/json":
        found |= await request.json()
    else:
        found |= {k: v for k, v in (await request.post()).items() if isinstance(v, str)}
    for key in ("blocks", "attachments", "metadata", "view", "files"):
        if isinstance(found.get(key), str):
            found[key] = json.loads(found[key])
    return found
