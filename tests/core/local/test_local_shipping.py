"""Code is shipped to local hosts."""

from collections.abc import Sequence

import pytest
from tests.core.local.conftest import LocalSlice
from tests.support.shipping import ShippingContract

from jobman_core.interfaces.host import Host


class TestShippingToLocalHosts(ShippingContract):
    @pytest.fixture
    def hosts(self, local: LocalSlice) -> Sequence[Host]:
        return local.hosts
