"""Google's APIs besides that of TPUs, as far as jobman asks them: one a module.

Each has a class whose methods are named after the API's, and says in ``RPCS`` what of it is asked
over gRPC. What may be set about them stands in :mod:`~jobman_emulator.apis.account`.
"""

from typing import Final

from jobman_emulator.apis import compute, metrics, projects, quota_infos, services
from jobman_emulator.apis.rpc import Rpc

#: All methods of these APIs, over gRPC and REST.
RPCS: Final[tuple[Rpc, ...]] = (
    *quota_infos.RPCS,
    *services.RPCS,
    *projects.RPCS,
    *metrics.RPCS,
    *compute.RPCS,
)
