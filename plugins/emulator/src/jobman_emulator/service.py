"""The API as a whole: any method by its name, with the troubles that were ordered."""

import asyncio
import re
import time
from collections.abc import Callable
from typing import Any

from google.rpc import code_pb2

from jobman_emulator.calls import CALLS, is_plus
from jobman_emulator.errors import ApiError
from jobman_emulator.faults import Faults
from jobman_emulator.lives import Lives
from jobman_emulator.messages import to_version
from jobman_emulator.nodes import Nodes
from jobman_emulator.offers import Offers, Operations
from jobman_emulator.queued import QueuedResources
from jobman_emulator.state import Operation, State

#: Takes a request and the version of the API; gives an answer, or an operation.
Handler = Callable[[Any, str], Any]


class Tpu:
    """All methods on one state: messages are v2alpha1's, or those that all APIs share."""

    def __init__(self, state: State, lives: Lives, faults: Faults) -> None:
        """Find the handler of each method."""
        self._faults = faults
        self.nodes = Nodes(state, lives)
        parts = (self.nodes, QueuedResources(state, lives), Offers(), Operations(state))
        self._handlers: dict[str, Handler] = {
            call.name: getattr(part, method)
            for call in CALLS
            for part in parts
            if hasattr(part, method := re.sub(r"(?<!^)(?=[A-Z])", "_", call.name).lower())
        }

    async def call(self, name: str, request: Any, version: str) -> Any:  # noqa: ANN401 - messages
        """Carry out a method.

        Args:
            name: the method's, like ``CreateNode``.
            request: its message.
            version: of the API, for the operation that may come of it.

        Raises:
            ApiError: it is refused, or somebody ordered that it fails.
        """
        slowness = self._faults.slowness(name)
        await asyncio.sleep(slowness.before)
        self._faults.admit(name, time.monotonic())
        handler = self._handlers.get(name)
        if handler is None:
            raise ApiError(code_pb2.UNIMPLEMENTED, f"{name} is not emulated")
        answer = handler(request, version)
        await asyncio.sleep(slowness.after)
        return answer


def shown(answer: Any, version: str) -> Any:  # noqa: ANN401 - messages
    """Give an answer as a version of the API shows it."""
    if isinstance(answer, Operation):
        return answer.message()
    return to_version(answer, version) if is_plus(type(answer)) else answer
