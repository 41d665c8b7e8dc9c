"""The built-in store: SQLite, on a thread of its own."""

from jobman_core.builtin.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
