"""What a connection to SQLite was seen to do."""

from collections.abc import Iterable


def commit_modes(statements: Iterable[str], mode: str) -> list[str]:
    """Give how each commit was synced; ``mode`` is how they were before."""
    modes = []
    for statement in statements:
        if statement.startswith("PRAGMA synchronous"):
            mode = statement.rpartition(" ")[2]
        elif statement == "COMMIT":
            modes.append(mode)
    return modes
