"""Small HTTP servers on loopback, for as long as a test needs them."""

import contextlib
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer


@contextlib.contextmanager
def serving_http(server: ThreadingHTTPServer) -> Iterator[str]:
    """Let a server that is bound answer; gives its URL."""
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
