"""What every store does. Subclass it to hold an implementation of yours to it.

.. code-block:: python

    class TestMyStore(StoreContract):
        def make(self, home: Path) -> Store:
            return MyStore(Context(home, "", FakeClock()))

Stores that are made for the same folder must share their data, as those of several processes do.
The suite needs pytest-asyncio's ``auto`` mode.
"""

from jobman_core.testing.store_contract.attempts import AttemptsContract
from jobman_core.testing.store_contract.definitions import DefinitionsContract
from jobman_core.testing.store_contract.events import EventsContract
from jobman_core.testing.store_contract.jobs import JobsContract
from jobman_core.testing.store_contract.leases import LeasesContract
from jobman_core.testing.store_contract.memory import MemoryContract
from jobman_core.testing.store_contract.queues import QueuesContract
from jobman_core.testing.store_contract.reports import ReportsContract
from jobman_core.testing.store_contract.slices import SlicesContract
from jobman_core.testing.store_contract.tallies import TalliesContract
from jobman_core.testing.store_contract.zones import ZonesContract


class StoreContract(
    JobsContract,
    LeasesContract,
    SlicesContract,
    AttemptsContract,
    QueuesContract,
    DefinitionsContract,
    TalliesContract,
    EventsContract,
    MemoryContract,
    ReportsContract,
    ZonesContract,
):
    """All of it."""
