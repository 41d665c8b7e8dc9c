from pathlib import Path

from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import Store
from jobman_core.testing.fakes import FakeClock
from jobman_core.testing.store_contract import StoreContract


class TestSqliteStore(StoreContract):
    def make(self, home: Path) -> Store:
        return SqliteStore(Context(home, "", FakeClock()))
