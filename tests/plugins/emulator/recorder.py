"""Exchanges over HTTP: recorded between a client and the emulator, made comparable, replayed."""

import http.client
import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.plugins.emulator.conftest import Rest

GOLDEN = Path(__file__).parent / "golden"
#: Set to write the pinned files anew instead of comparing with them.
RENEW = bool(os.environ.get("JOBMAN_RENEW_GOLDEN"))

_OPERATION = re.compile(r"operation-\d+-[0-9a-f]+")
_VOLATILE = {"createTime": "TIME", "endTime": "TIME", "id": "ID", "ssh-keys": "KEYS"}


def comparable(value: Any) -> Any:
    """Replace what differs from run to run by a word."""
    if isinstance(value, list):
        return [comparable(item) for item in value]
    if isinstance(value, dict):
        return {key: _VOLATILE.get(key) or comparable(item) for key, item in value.items()}
    return _OPERATION.sub("OPERATION", value) if isinstance(value, str) else value


def pinned(name: str) -> Any:
    """Give what is pinned."""
    return json.loads((GOLDEN / f"{name}.json").read_text())


def compare(name: str, found: Any) -> None:
    """Compare with what is pinned; pin it where that is to be renewed."""
    if RENEW:
        GOLDEN.mkdir(exist_ok=True)
        (GOLDEN / f"{name}.json").write_text(json.dumps(found, indent=2) + "\n")
    assert found == pinned(name)


class Recorder:
    """What went over the wire, in order, without the polls of an operation that has not ended."""

    def __init__(self) -> None:
        self._exchanges: list[dict[str, Any]] = []

    def add(self, method: str, target: str, body: Any, status: int, reply: Any) -> None:
        parts = urlsplit(target)
        query = urlencode(sorted(parse_qsl(parts.query)))
        path = parts.path.lstrip("/") + (f"?{query}" if query else "")
        exchange = comparable(
            {"method": method, "path": path, "body": body, "status": status, "reply": reply}
        )
        polled = [exchange[key] for key in ("method", "path")]
        last = self._exchanges[-1] if self._exchanges else {}
        if "/operations/" in path and polled == [last.get("method"), last.get("path")]:
            self._exchanges.pop()
        self._exchanges.append(exchange)

    def take(self) -> list[dict[str, Any]]:
        """Give what came since the last time."""
        taken, self._exchanges = self._exchanges, []
        return taken


@contextmanager
def recording(rest: str) -> Iterator[tuple[str, Recorder]]:
    """Stand between a client and the emulator's REST door; give the address, and the record."""
    recorder = Recorder()

    class Handler(BaseHTTPRequestHandler):
        def _pass(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            connection = http.client.HTTPConnection(urlsplit(rest).netloc, timeout=60)
            kind = {"Content-Type": self.headers.get("Content-Type", "application/json")}
            connection.request(self.command, self.path, body, kind)
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            document = json.loads(body) if body else None
            recorder.add(self.command, self.path, document, answer.status, json.loads(content))
            self.send_response(answer.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = do_DELETE = _pass  # noqa: N815 - http.server's names

        def log_message(self, *_args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", recorder
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def replay(
    rest: Rest, exchanges: list[dict[str, Any]], settle: Callable[[], None]
) -> list[dict[str, Any]]:
    """Send pinned requests as the client did, and give what comes of them.

    ``settle`` waits until nothing changes, as the client's own slowness does.
    """
    recorder = Recorder()
    operation = ""
    for exchange in exchanges:
        path = exchange["path"].replace("OPERATION", operation)
        if "/operations/" not in path:
            settle()
        status, reply = rest(exchange["method"], path, exchange["body"])
        while "/operations/" in path and not reply.get("done"):
            status, reply = rest(exchange["method"], path, exchange["body"])
        if found := _OPERATION.search(reply.get("name", "")):
            operation = found[0]
        recorder.add(exchange["method"], path, exchange["body"], status, reply)
    return recorder.take()
