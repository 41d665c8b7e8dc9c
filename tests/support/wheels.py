"""Small Python packages, and an index that has them, made where they are used."""

import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import attrs


def make_wheel(folder: Path, name: str, version: str, needs: str | None = None) -> Path:
    """Write a package with one module, which knows its version, and a program of that name."""
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    if needs:
        metadata += f"Requires-Dist: {needs}\n"
    files: Mapping[str, str] = {
        f"{name}.py": f"VERSION = {version!r}\ndef main(): print('{name}', VERSION)\n",
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name}-say = {name}:main\n",
    }
    record = "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD"))
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in (*files.items(), (f"{info}/RECORD", record)):
            archive.writestr(path, text)
    return wheel


@attrs.define
class Index:
    """A package index on this machine."""

    wheels: Path
    port: int = 0
    #: What every request is answered with instead, if anything.
    status: int | None = None
    #: Requests get no answer as long as this is not set.
    answers: threading.Event = attrs.field(factory=threading.Event)
    #: A request came that got no answer yet.
    asked: threading.Event = attrs.field(factory=threading.Event)

    @property
    def url(self) -> str:
        """What installers are told."""
        return f"http://127.0.0.1:{self.port}/simple"


@contextmanager
def serve(wheels: Path, *, address: str = "127.0.0.1", port: int = 0) -> Iterator[Index]:
    """Serve a folder of wheels as an index, and withdraw it afterwards; several may share one."""
    index = Index(wheels)
    index.answers.set()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            index.asked.set()
            index.answers.wait()
            status, content = (index.status, b"") if index.status else _page(index, self.path)
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_HEAD(self) -> None:
            self.send_error(405)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            pass

    with ThreadingHTTPServer((address, port), Handler) as server:
        index.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield index
        finally:
            index.answers.set()
            server.shutdown()
            thread.join()


def _page(index: Index, path: str) -> tuple[int, bytes]:
    name = path.strip("/").rpartition("/")[2]
    file = index.wheels / name
    if name.endswith(".whl") and file.is_file():
        return 200, file.read_bytes()
    files = sorted(index.wheels.glob(f"{name.replace('-', '_')}-*.whl")) if name else []
    if not files:
        return 404, b""
    links = "".join(f'<a href="/files/{each.name}">{each.name}</a>\n' for each in files)
    return 200, f"<!DOCTYPE html><html><body>{links}</body></html>".encode()
