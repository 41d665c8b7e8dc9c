"""What the emulated project and the account that asks are like: which APIs, rights and settings."""

from typing import Final

import attrs
from google.rpc import code_pb2, error_details_pb2

from jobman_emulator.apis.rpc import Rpc
from jobman_emulator.errors import ApiError
from jobman_emulator.rules import PROJECT_NUMBER

#: API: its title. All are enabled until somebody says otherwise.
SERVICES: Final = {
    "bigquery.googleapis.com": "BigQuery API",
    "cloudquotas.googleapis.com": "Cloud Quotas API",
    "cloudresourcemanager.googleapis.com": "Cloud Resource Manager API",
    "compute.googleapis.com": "Compute Engine API",
    "iam.googleapis.com": "Identity and Access Management (IAM) API",
    "monitoring.googleapis.com": "Cloud Monitoring API",
    "oslogin.googleapis.com": "Cloud OS Login API",
    "serviceusage.googleapis.com": "Service Usage API",
    "storage.googleapis.com": "Cloud Storage API",
    "tpu.googleapis.com": "Cloud TPU API",
}


@attrs.define
class Account:
    """All goes well until something is set."""

    #: APIs that are not enabled.
    disabled: set[str] = attrs.field(factory=set)
    #: Permissions that the account has not got.
    denied: set[str] = attrs.field(factory=set)
    #: Of the project's metadata, ``enable-oslogin``; None: it does not say.
    os_login: bool | None = None

    def clear(self) -> None:
        """Let all go well again."""
        self.disabled.clear()
        self.denied.clear()
        self.os_login = None

    def check(self, rpc: Rpc) -> None:
        """Let a call pass, or not.

        Raises:
            ApiError: its API is not enabled, or the account may not.
        """
        self.check_api(rpc.api)
        if rpc.permission in self.denied:
            text = f"Permission '{rpc.permission}' denied on resource (or it may not exist)."
            raise _refusal(text, "IAM_PERMISSION_DENIED", permission=rpc.permission)

    def check_api(self, api: str) -> None:
        """Let a call to an API pass, or not.

        Raises:
            ApiError: it is not enabled.
        """
        if api in self.disabled:
            page = f"https://console.developers.google.com/apis/api/{api}/overview"
            text = (
                f"{SERVICES[api]} has not been used in project {PROJECT_NUMBER} before or it is "
                f"disabled. Enable it by visiting {page}?project={PROJECT_NUMBER} then retry. If "
                "you enabled this API recently, wait a few minutes for the action to propagate to "
                "our systems and retry."
            )
            raise _refusal(text, "SERVICE_DISABLED", service=api)


def _refusal(text: str, reason: str, **metadata: str) -> ApiError:
    about = {"consumer": f"projects/{PROJECT_NUMBER}", **metadata}
    detail = error_details_pb2.ErrorInfo(reason=reason, domain="googleapis.com", metadata=about)
    return ApiError(code_pb2.PERMISSION_DENIED, text, [detail])
