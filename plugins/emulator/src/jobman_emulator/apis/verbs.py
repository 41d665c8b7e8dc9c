"""The verbs about the account and its project, and about what is measured of buckets."""

from collections.abc import Callable
from datetime import datetime, timedelta

from jobman_core.errors import instead
from jobman_emulator.apis.account import SERVICES, Account
from jobman_emulator.apis.metrics import Measured, Metrics
from jobman_emulator.errors import invalid


class Verbs:
    """They are part of :class:`~jobman_emulator.control.Control`."""

    def __init__(self, account: Account, metrics: Metrics, now: Callable[[], datetime]) -> None:
        """Rule an account, and what is measured."""
        self._account = account
        self._metrics = metrics
        self._now = now

    async def api(self, name: str, *, enabled: bool) -> None:
        """Let one of Google's APIs be enabled in the project, or not: then its calls are refused.

        Args:
            name: like ``cloudquotas.googleapis.com``.
            enabled: all are, until somebody says otherwise.
        """
        if name not in SERVICES:
            raise invalid(f"unknown API {name!r}: {instead(name, [*SERVICES])}")
        (self._account.disabled.discard if enabled else self._account.disabled.add)(name)

    async def permission(self, name: str, *, granted: bool) -> None:
        """Let the account have a permission, or not.

        Args:
            name: like ``tpu.nodes.create``: told when somebody asks which the account has. Those
                that the APIs besides that of TPUs take are looked at in their calls, too.
            granted: all are, until somebody says otherwise.
        """
        (self._account.denied.discard if granted else self._account.denied.add)(name)

    async def os_login(self, enabled: bool | None) -> None:
        """Let the project's metadata say whether OS Login is used; None: it does not say."""
        self._account.os_login = enabled

    async def bucket(
        self,
        name: str,
        bytes: int,  # noqa: A002 - what the metric is called
        objects: int,
        *,
        storage_class: str = "REGIONAL",
        kind: str = "live-object",
        age: float = 0.0,
    ) -> None:
        """Let Cloud Monitoring know the size of a part of a bucket.

        Args:
            name: the bucket's.
            bytes: of all objects of that class and kind.
            objects: how many.
            storage_class: as the metric has it.
            kind: ``live-object``, ``noncurrent-object``, ``soft-deleted-object`` or
                ``multipart-upload``.
            age: seconds since it was measured.
        """
        measured = Measured(name, bytes, objects, storage_class=storage_class, kind=kind)
        for series in measured.series(self._now() - timedelta(seconds=age)):
            self._metrics.put(series)
