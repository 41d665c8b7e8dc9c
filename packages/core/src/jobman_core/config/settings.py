"""Settings: the lab's (``<home>/jobman.yaml``) and one's own, which beats it.

What holds for everybody (``admins``, ``lease``, ``beat``, ``reap``) stands in the lab's alone.

This module imports neither ruamel nor cattrs nor plugins: what was read is kept as JSON under the
content hash of both files, so that commands that only look pay for none of them.
"""

import contextlib
import hashlib
import json
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from jobman_core.config.text import SMALL, read_bytes, whole
from jobman_core.group import account, is_mine
from jobman_core.home import Home
from jobman_core.models.notice import NotifyRule
from jobman_core.models.reap import ReapRules
from jobman_core.models.settings import Settings

if TYPE_CHECKING:
    from jobman_core.plugins import Plugins

#: Part of the cache's key: rises when the shape of the settings changes.
_VERSION: Final = 4
_RULES: Final = ("notify", "own_notify")


def own_settings(environ: Mapping[str, str] | None = None) -> Path:
    """Give the place of one's own settings: below ``XDG_CONFIG_HOME``, else ``~/.config``."""
    base = (os.environ if environ is None else environ).get("XDG_CONFIG_HOME", "")
    folder = Path(base if base.startswith("/") else os.path.expanduser("~/.config"))  # noqa: PTH111 - it raises
    return folder / "jobman" / "config.yaml"


def load_settings(
    home: Home, own: Path | None = None, plugins: "Callable[[], Plugins] | None" = None
) -> Settings:
    """Read both files; one that is not there says nothing.

    Args:
        home: whose lab settings to read.
        own: one's own settings, by default those of the user.
        plugins: gives those whose backends say what their sections may be; it is called only
            when a file, or what is installed, has changed.

    Raises:
        ConfigError: a file has faults, or not who owns the home wrote it.
    """
    if home.shared:
        _check_owner(home)
    files = [(path, _content(path)) for path in (home.settings, own or own_settings())]
    if not any(content for _, content in files):
        return Settings()
    digest = _digest(files, () if plugins is None else _installed())
    cache = home.state / (f"settings-{os.geteuid()}.json" if home.shared else "settings.json")
    kept = _recall(cache, digest)
    if kept is not None:
        return kept
    from jobman_core.config.settings_file import read_settings

    written = [(path, content) for path, content in files if content is not None]
    settings = read_settings(written, home.settings, plugins() if plugins is not None else None)
    _remember(cache, digest, settings)
    return settings


def _content(path: Path) -> bytes | None:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        # It may be there: reading it says what is wrong.
        pass
    return read_bytes(path, SMALL)


def _check_owner(home: Home) -> None:
    """Refuse the lab's settings where anybody of the group may have written them.

    They say who is an admin, and how everybody's programs reach their hosts.

    Raises:
        ConfigError: another than the home's owner, or root, has written them, or may.
    """
    path, owner = home.settings, home.root.stat().st_uid
    try:
        status = path.stat()
    except OSError:
        # Reading it says what is wrong, if it is there.
        return
    if status.st_uid not in (owner, 0):
        who, whose = account(status.st_uid), account(owner)
        raise whole(path, f"{who} wrote it, and the shared home is {whose}'s: `chown {whose}` it")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise whole(path, "others may write it, and it says who is an admin: `chmod 640` it")


def _installed() -> Iterator[str]:
    """Tell one set of plugins from another, without loading any: installing changes a folder."""
    yield f"disabled={os.environ.get('JOBMAN_DISABLED_PLUGINS', '')}"
    for folder in sys.path:
        if folder.endswith("-packages") and os.path.isdir(folder):  # noqa: PTH112 - Path's own raises
            yield f"{folder}={Path(folder).stat().st_mtime_ns}"


def _digest(files: list[tuple[Path, bytes | None]], installed: Iterable[str]) -> str:
    total = hashlib.sha256(str(_VERSION).encode())
    for path, content in files:
        # The paths stand in faults, and two files that swap their places differ.
        part = b"-" if content is None else content
        total.update(f"{path}\0{len(part)}\0".encode("utf-8", "surrogateescape") + part)
    for word in installed:
        total.update(f"{word}\0".encode("utf-8", "surrogateescape"))
    return total.hexdigest()


def _recall(cache: Path, digest: str) -> Settings | None:
    """Give what is kept; None: nothing, something else, or nothing that can be read."""
    try:
        kept = json.loads(cache.read_bytes())
        if kept["digest"] != digest or not is_mine(cache):
            return None
        values = kept["settings"]
        as_they_were = {key: values[key] and NotifyRule.of_data(values[key]) for key in _RULES} | {
            "admins": tuple(values["admins"]),
            "reap": ReapRules(**values["reap"]),
        }
        return Settings(**{**values, **as_they_were})
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _remember(cache: Path, digest: str, settings: Settings) -> None:
    """Keep settings for the next time, where that is possible."""
    text = json.dumps({"digest": digest, "settings": attrs.asdict(settings)})
    if not cache.parent.is_dir():
        # Looking at a folder does not make it a home.
        return
    with contextlib.suppress(OSError):
        handle, name = tempfile.mkstemp(dir=cache.parent, prefix=".settings-")
        try:
            with os.fdopen(handle, "w") as file:
                file.write(text)
            Path(name).replace(cache)
        except OSError:
            Path(name).unlink(missing_ok=True)
