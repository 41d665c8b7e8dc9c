"""The file that a job was created from, to notice that it has changed since."""

import hashlib
import json
from pathlib import Path
from typing import Self

import attrs

from jobman_core.config.text import SMALL, decode, read_bytes
from jobman_core.errors import ConfigError, InvalidInputError
from jobman_core.files import put


@attrs.frozen
class Origin:
    """A job's file, and what was made of it."""

    #: Absolute.
    path: Path
    #: The text that was read from it (SHA-256, hex).
    content: str
    #: The job's ``config.yaml`` as it was written then, before anybody edited it.
    snapshot: str = attrs.field(repr=False)

    @classmethod
    def of(cls, path: Path, text: str, snapshot: str) -> Self:
        """Remember the text of a file."""
        return cls(path, _hash(text), snapshot)

    @classmethod
    def read(cls, place: Path) -> Self | None:
        """Read what was written; None: nothing was, by an older version.

        Raises:
            InvalidInputError: it cannot be read.
        """
        try:
            found = json.loads(place.read_text(encoding="utf-8"))
            return cls(Path(found["path"]), str(found["content"]), str(found["snapshot"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError) as error:
            msg = f"{place} cannot be read ({error}): remove it, and edit the job's config.yaml"
            raise InvalidInputError(msg) from error

    def put(self, place: Path) -> None:
        """Write it, for its owner alone, as the text may hold secrets."""
        put(place, json.dumps({**attrs.asdict(self), "path": str(self.path)}))

    def changed(self) -> bool:
        """Tell whether the file has another text now; one that cannot be read tells nothing."""
        try:
            return _hash(decode(read_bytes(self.path, SMALL), self.path)) != self.content
        except ConfigError:
            return False


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
