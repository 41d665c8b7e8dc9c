"""The host keys of one generation of a slice: a file in its job's folder."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from jobman_core.errors import CloudError, HostUnreachableError
from jobman_core.home import make_inside
from jobman_core.interfaces.cloud import Cloud
from jobman_core.models.slice import Slice

#: Ends the line of a key that did not come from the host itself.
_VOUCHED: Final = "vouched-for-by-the-cloud"


class KnownHosts:
    """What is known of a slice's hosts, asked of its cloud once for those of whom nothing is."""

    def __init__(self, path: Path, cloud: Cloud, slice_: Slice) -> None:
        """Name the file; nothing is touched yet."""
        self.path = path
        self._cloud = cloud
        self._slice = slice_
        self._lock = asyncio.Lock()
        self._vouched: set[str] | None = None

    def alias(self, index: int) -> str:
        """Give the name that a host's key stands under."""
        return f"{self._slice.identity.name}-{index}"

    async def strict(self, index: int) -> bool:
        """Tell whether a host's key is known, so that no other one is to be taken.

        Raises:
            HostUnreachableError: the cloud does not answer, or the file cannot be written.
        """
        async with self._lock:
            if self._vouched is None:
                self._vouched = await self._ask()
        return self.alias(index) in self._vouched

    async def _ask(self) -> set[str]:
        try:
            lines = await asyncio.to_thread(_read, self.path)
            known = {line[0] for line in lines}
            if any(self.alias(host.index) not in known for host in self._slice.hosts):
                offered = await self._cloud.host_keys(self._slice)
                new = [
                    (self.alias(index), *key.split()[:2], _VOUCHED)
                    for index, keys in sorted(offered.items())
                    for key in keys
                    if self.alias(index) not in known
                ]
                await asyncio.to_thread(_append, self.path, new)
                lines += new
        except CloudError as error:
            raise HostUnreachableError(f"its host key is not known yet: {error}") from error
        except OSError as error:
            raise HostUnreachableError(
                f"host keys cannot be kept in {self.path}: {error.strerror}"
            ) from error
        return {line[0] for line in lines if line[-1] == _VOUCHED}


def _read(path: Path) -> list[tuple[str, ...]]:
    """Give the words of each line."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    return [tuple(line.split()) for line in text.splitlines() if line.strip()]


def _append(path: Path, lines: Sequence[Sequence[str]]) -> None:
    # Added, not put in its place: OpenSSH adds to it at the same time.
    make_inside(path.parent)
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(f"{' '.join(line)}\n" for line in lines))
