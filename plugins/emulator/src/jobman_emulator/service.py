"""All that is served: any method by its name, with the troubles that were ordered."""

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from google.rpc import code_pb2

from jobman_emulator.apis import RPCS
from jobman_emulator.apis.account import Account
from jobman_emulator.apis.compute import Compute
from jobman_emulator.apis.metrics import Metrics
from jobman_emulator.apis.projects import Projects
from jobman_emulator.apis.quota_infos import QuotaInfos
from jobman_emulator.apis.services import Services
from jobman_emulator.calls import CALLS
from jobman_emulator.errors import ApiError
from jobman_emulator.faults import Faults
from jobman_emulator.lives import Lives
from jobman_emulator.messages import is_tpu, to_version
from jobman_emulator.nodes import Nodes
from jobman_emulator.offers import Offers, Operations
from jobman_emulator.queued import QueuedResources
from jobman_emulator.state import Operation, State

_TPU: Final = "tpu.googleapis.com"
#: The methods of the other APIs.
_OTHERS: Final = {rpc.name: rpc for rpc in RPCS}
#: All methods' names: what can be slowed down, limited, or made to fail.
NAMES: Final = (*(call.name for call in CALLS), *_OTHERS)

#: Takes a request and the version of the API; gives an answer, or an operation.
Handler = Callable[[Any, str], Any]


class Tpu:
    """All methods on one state: of TPUs in v2alpha1's messages, of other APIs in their own."""

    def __init__(self, state: State, lives: Lives, faults: Faults) -> None:
        """Find the handler of each method."""
        self._faults = faults
        self.nodes = Nodes(state, lives)
        self.account = Account()
        self.metrics = Metrics()
        tpu = (self.nodes, QueuedResources(state, lives), Offers(), Operations(state))
        others = (
            QuotaInfos(lives.limits),
            Services(self.account),
            Projects(self.account),
            self.metrics,
            Compute(lives.limits, self.account),
        )
        self._handlers = _handlers((*tpu, *others))

    async def call(self, name: str, request: Any, version: str) -> Any:  # noqa: ANN401 - messages
        """Carry out a method.

        Args:
            name: the method's, like ``CreateNode``.
            request: its message; of the Compute API, what its path says.
            version: of the API, for the operation that may come of it.

        Raises:
            ApiError: it is refused, or somebody ordered that it fails.
        """
        slowness = self._faults.slowness(name)
        await asyncio.sleep(slowness.before)
        self._faults.admit(name, time.monotonic())
        if name in _OTHERS:
            self.account.check(_OTHERS[name])
        else:
            self.account.check_api(_TPU)
        handler = self._handlers.get(name)
        if handler is None:
            raise ApiError(code_pb2.UNIMPLEMENTED, f"{name} is not emulated")
        answer = handler(request, version)
        await asyncio.sleep(slowness.after)
        return answer


def _handlers(parts: tuple[object, ...]) -> Mapping[str, Handler]:
    """Find the handler of each method: it is called the same, in another case."""
    return {
        name: getattr(part, method)
        for name in NAMES
        for part in parts
        if hasattr(part, method := re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower())
    }


def shown(answer: Any, version: str) -> Any:  # noqa: ANN401 - messages
    """Give an answer as a version of the API shows it."""
    if isinstance(answer, Operation):
        return answer.message()
    return to_version(answer, version) if is_tpu(type(answer)) else answer
