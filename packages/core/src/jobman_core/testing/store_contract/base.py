"""What the parts of the suite stand on."""

from abc import abstractmethod
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jobman_core.interfaces.store import Store
from jobman_core.testing.store_contract.scene import Scene


class BaseContract:
    """Gives each test an opened store."""

    @abstractmethod
    def make(self, home: Path) -> Store:
        """Make a store, not yet open, that keeps its data in a folder."""

    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        """Give an opened store."""
        store = self.make(tmp_path)
        await store.open()
        yield store
        await store.aclose()

    @pytest.fixture
    async def other(self, tmp_path: Path) -> AsyncIterator[Store]:
        """Give a second one with the same data, as another process has it."""
        other = self.make(tmp_path)
        await other.open()
        yield other
        await other.aclose()

    @pytest.fixture
    def scene(self, store: Store) -> Scene:
        """Give the store, in few words."""
        return Scene(store)
