"""How each version of gcsfuse wants to be told what the section ``cache`` says.

Sources: gcsfuse's own list of parameters (``cfg/params.yaml``: flag, place in the configuration
file, since when a flag is deprecated) and its releases. 2.0 brought the file cache and new settings
of the metadata cache, in the configuration file, and 2.4 parallel downloads. Flags for all of them
came, and changed their names, in releases of 2.x; the file is good for all of these. Before 2.0
there were the flags that are deprecated since, counted otherwise: times as Go writes them, and the
stat cache in entries.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

#: A hundred years: "never" has no word of its own before 2.0.
_NEVER_EXPIRES: Final = "876000h"
#: Bytes of an entry of the stat cache, as gcsfuse itself counts them.
_STAT_ENTRY: Final = 1688
_MIB: Final = 2**20
#: So many entries that no bucket has them.
_ALL: Final = 2**31 - 1


@attrs.frozen
class _Key:
    """One key of ``cache``."""

    flag: str
    #: In the configuration file.
    field: tuple[str, ...]
    #: The first version that can do it in its configuration file.
    since: tuple[int, int] = (2, 0)


_KEYS: Final[Mapping[str, _Key]] = {
    "dir": _Key("cache-dir", ("cache-dir",)),
    "metadata_ttl_secs": _Key("metadata-cache-ttl-secs", ("metadata-cache", "ttl-secs")),
    "stat_cache_max_size_mb": _Key(
        "stat-cache-max-size-mb", ("metadata-cache", "stat-cache-max-size-mb")
    ),
    "type_cache_max_size_mb": _Key(
        "type-cache-max-size-mb", ("metadata-cache", "type-cache-max-size-mb")
    ),
    "file_cache_max_size_mb": _Key("file-cache-max-size-mb", ("file-cache", "max-size-mb")),
    "cache_file_for_range_read": _Key(
        "file-cache-cache-file-for-range-read", ("file-cache", "cache-file-for-range-read")
    ),
    "enable_parallel_downloads": _Key(
        "file-cache-enable-parallel-downloads", ("file-cache", "enable-parallel-downloads"), (2, 4)
    ),
}
#: From here on all of them are flags.
_FLAGS: Final = (3, 0)
#: The versions before it that could do more than the one before them, the newest first.
_FILES: Final = ((2, 4), (2, 0))


def options(cache: Mapping[str, Any], *, others: bool = False) -> tuple[str, ...]:
    """Give the options as ``mount.sh`` takes them: for all versions, then by them, newest first.

    Args:
        cache: the keys that are written.
        others: other users of the host, root among them, are let in.
    """
    said = ["--o=allow_other"] if others else []
    keys = {key: value for key, value in cache.items() if key in _KEYS}
    if not keys:
        return tuple(said)
    said += [_version(_FLAGS), *_flags(keys)]
    for version in _FILES:
        said += [_version(version), *_file(keys, version)]
    return (*said, _version((0, 0)), *_old(keys))


def _flags(keys: Mapping[str, Any]) -> Iterator[str]:
    for key, value in keys.items():
        yield f"--{_KEYS[key].flag}={_plain(value)}"


def _file(keys: Mapping[str, Any], version: tuple[int, int]) -> Iterator[str]:
    content: dict[str, Any] = {}
    for key, value in keys.items():
        known = _KEYS[key]
        if known.since > version:
            yield _lacks(key, known.since)
            continue
        *above, last = known.field
        part = content
        for name in above:
            part = part.setdefault(name, {})
        part[last] = value
    # YAML holds all that JSON does.
    yield f"@{json.dumps(content)}"


def _old(keys: Mapping[str, Any]) -> Iterator[str]:
    for key, value in keys.items():
        match key:
            case "metadata_ttl_secs":
                time = _NEVER_EXPIRES if value < 0 else f"{value}s"
                yield from (f"--stat-cache-ttl={time}", f"--type-cache-ttl={time}")
            case "stat_cache_max_size_mb":
                entries = _ALL if value < 0 else min(value * _MIB // _STAT_ENTRY, _ALL)
                yield f"--stat-cache-capacity={entries}"
            case _:
                yield _lacks(key, _KEYS[key].since)


def _lacks(key: str, since: tuple[int, int]) -> str:
    first = ".".join(map(str, since))
    return f"!cache.{key} needs {first}: take the key out, or install a newer one on the hosts"


def _version(version: tuple[int, int]) -> str:
    return "v{}.{}".format(*version)


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
