"""Who may log in to a node's hosts, as its metadata says."""

import re
from collections.abc import Mapping

#: What Linux and sshd take as a user's name without a question.
_USER = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")


def keys_of(metadata: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Give the public keys of each user: ``KIND BASE64``, without what follows.

    Args:
        metadata: its ``ssh-keys`` holds ``USER:KIND BASE64 …`` a line; a line that is none is
            passed over, as real hosts do.
    """
    found: dict[str, list[str]] = {}
    for line in metadata.get("ssh-keys", "").splitlines():
        user, _, key = line.strip().partition(":")
        parts = key.split()
        if _USER.fullmatch(user) and len(parts) > 1:
            found.setdefault(user, []).append(f"{parts[0]} {parts[1]}")
    return {user: tuple(keys) for user, keys in found.items()}
