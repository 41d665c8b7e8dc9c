"""Buckets with any number of objects, served fast: Cloud Storage as far as counting asks it.

``python -m tests.support.objects COUNT`` serves one with so many, at the address that it prints.
"""

import contextlib
import json
import sys
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

import attrs
from tests.support.serving import serving_http

#: Objects of a page, as Cloud Storage has it.
PAGE: Final = 1000


@attrs.frozen
class Blob:
    """One object, or one version of it."""

    name: str
    size: int = 1
    storage_class: str = "STANDARD"
    #: Not the newest version any more.
    old: bool = False
    #: Deleted, and kept for a while.
    deleted: bool = False

    def shown(self) -> dict[str, str]:
        """Give it as the API does, with the fields that were asked for."""
        when = "2026-11-30T12:00:00Z"
        more = {"timeDeleted": when} if self.old or self.deleted else {}
        more |= {"softDeleteTime": when} if self.deleted else {}
        size, kind = str(self.size), self.storage_class
        return {"name": self.name, "size": size, "storageClass": kind, **more}


@attrs.define
class Bucket:
    """What a bucket holds, and how it answers."""

    blobs: Sequence[Blob] = ()
    page: int = PAGE
    #: HTTP status of a look at it, and of a list of its objects; 200: it answers.
    look: int = 200
    listing: int = 200
    #: From this page on its lists fail so; None: they do not.
    breaks_at: int | None = None
    keeps_deleted: bool = False
    #: Pages that were asked for.
    pages: int = 0
    #: Where the lists began that found something.
    starts: set[str] = attrs.field(factory=set)
    _sorted: dict[bool, tuple[list[str], list[Blob]]] = attrs.field(factory=dict)

    def listed(self, asked: dict[str, str]) -> tuple[int, dict[str, Any]]:
        """Give a page of objects."""
        if self.listing != 200:
            return self.listing, {}
        self.pages += 1
        if self.breaks_at is not None and self.pages >= self.breaks_at:
            return 400, {}
        deleted = asked.get("softDeleted", "").lower() == "true"
        names, blobs = self._of(deleted=deleted)
        start = int(asked.get("pageToken") or bisect_left(names, asked.get("startOffset", "")))
        end = bisect_left(names, asked["endOffset"]) if "endOffset" in asked else len(names)
        over = min(start + self.page, end)
        versions = deleted or asked.get("versions", "").lower() == "true"
        found = [blob.shown() for blob in blobs[start:over] if versions or not blob.old]
        if found:
            self.starts.add(asked.get("startOffset", ""))
        return 200, {"items": found, **({"nextPageToken": str(over)} if over < end else {})}

    def _of(self, *, deleted: bool) -> tuple[list[str], list[Blob]]:
        if deleted not in self._sorted:
            blobs = [blob for blob in self.blobs if blob.deleted == deleted]
            blobs.sort(key=lambda blob: blob.name)
            self._sorted[deleted] = [blob.name for blob in blobs], blobs
        return self._sorted[deleted]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    #: A burst of connections is no reason to refuse one.
    request_queue_size = 64
    buckets: dict[str, Bucket]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        asked = {key: values[0] for key, values in parse_qs(url.query).items()}
        status, answer = self._answer([unquote(part) for part in url.path.split("/")[4:]], asked)
        if status != 200:
            answer = {"error": {"code": status, "message": "as the test says"}}
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _answer(self, parts: Sequence[str], asked: dict[str, str]) -> tuple[int, dict[str, Any]]:
        buckets = self.server.buckets
        if not parts:
            status = 403 if asked["project"] == "forbidden" else 200
            return status, {"items": [{"name": name} for name in sorted(buckets)]}
        bucket = buckets.get(parts[0])
        if bucket is None:
            return 404, {}
        if parts[1:] == ["o"]:
            return bucket.listed(asked)
        keeps = {"retentionDurationSeconds": "604800" if bucket.keeps_deleted else "0"}
        told = {"name": parts[0], "location": "US-CENTRAL2", "projectNumber": "7"}
        return bucket.look, {**told, "softDeletePolicy": keeps}

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's word
        """Say nothing."""


@contextlib.contextmanager
def serving(buckets: dict[str, Bucket]) -> Iterator[str]:
    """Serve buckets, by name; gives the URL."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.buckets = buckets
    with serving_http(server) as url:
        yield url


def many(count: int) -> Sequence[Blob]:
    """Give objects as experiments leave them: ten folders, most of it in one of them."""
    folders = ["checkpoints", "data", "logs", *(f"run-{number}" for number in range(7))]
    half = count // 2
    spread = [Blob(f"{folders[at % 10]}/{at // 10:09d}.bin", at % 1000) for at in range(half)]
    return [*spread, *(Blob(f"shards/part-{at:09d}", 4096) for at in range(count - half))]


def _main() -> None:
    with serving({"many": Bucket(many(int(sys.argv[1])))}) as url:
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    _main()
