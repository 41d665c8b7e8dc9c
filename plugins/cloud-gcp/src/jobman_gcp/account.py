"""Whose credentials and which project, and the channel that is made with them."""

import os
import re
from typing import TYPE_CHECKING, Any, Final

import attrs

from jobman_core.errors import PermanentCloudError
from jobman_core.process import in_daemon

if TYPE_CHECKING:
    import grpc.aio

#: Sends everything to an emulator: ``127.0.0.1:PORT``, without credentials.
EMULATOR: Final = "TPU_EMULATOR_HOST"
#: Where its Compute Engine API is; gcloud goes there, too. `jobman emulator status` prints both.
EMULATED_COMPUTE: Final = "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"
#: Say which project, the first that is set; those of Google's own tools.
_PROJECT: Final = ("GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT", "GCLOUD_PROJECT")
#: An emulator does not mind whose project it is.
_EMULATED_PROJECT: Final = "emulated"
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+|\[[0-9a-fA-F:]+\]")
_LAST_PORT: Final = 65535
_SCOPES: Final = ("https://www.googleapis.com/auth/cloud-platform",)
#: Milliseconds. The library's own would leave a network that is back unused for two minutes, and
#: a connection that died without a word for a quarter of an hour.
_OPTIONS: Final = (
    ("grpc.initial_reconnect_backoff_ms", 500),
    ("grpc.max_reconnect_backoff_ms", 5_000),
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    # A zone full of nodes is more than the library takes by itself.
    ("grpc.max_receive_message_length", -1),
)


def named_project() -> str:
    """Give the project that the environment names; empty: it names none."""
    return next((os.environ[name] for name in _PROJECT if os.environ.get(name)), "")


@attrs.frozen
class Account:
    """Who asks, and for which project unless a job names one."""

    project: str = ""
    credentials: Any = attrs.field(default=None, repr=False)
    #: Host and port of an emulator, which is asked instead.
    emulator: str = ""

    @classmethod
    async def find(cls) -> "Account":
        """Take the emulator's where the environment names one, else the machine's account.

        Raises:
            PermanentCloudError: there are no credentials.
        """
        project = named_project()
        emulator = os.environ.get(EMULATOR, "")
        if emulator:
            _check_address(emulator)
            return cls(project or _EMULATED_PROJECT, emulator=emulator)
        # It reads files, may start gcloud, and asks the metadata server where there is one.
        credentials, found = await in_daemon(_credentials)
        return cls(project or found, credentials)

    def charged_to(self, project: str) -> "Account":
        """Give the same account for APIs whose calls have to be charged to a project.

        A person's credentials name none unless somebody told gcloud; a service account has its own.
        """
        from google.oauth2.credentials import Credentials

        own = self.credentials
        if not isinstance(own, Credentials) or own.quota_project_id:
            return self
        return attrs.evolve(self, credentials=own.with_quota_project(project))

    def channel(self, api: str = "tpu.googleapis.com") -> "grpc.aio.Channel":
        """Make a channel of the running loop; nothing is connected yet.

        Args:
            api: Google's host that is asked; an emulator answers for all that it serves.
        """
        import grpc.aio

        if self.emulator:
            # A proxy knows no loopback address of ours.
            options = (*_OPTIONS, ("grpc.enable_http_proxy", 0))
            return grpc.aio.insecure_channel(self.emulator, options=options)
        from google.cloud.tpu_v2.services.tpu.transports import TpuGrpcAsyncIOTransport

        channel: grpc.aio.Channel = TpuGrpcAsyncIOTransport.create_channel(
            api, credentials=self.credentials, options=_OPTIONS
        )
        return channel


def _check_address(emulator: str) -> None:
    """Refuse what gRPC would take for something else: of port 70000 it makes 4464."""
    host, _, port = emulator.rpartition(":")
    number = int(port) if port.isascii() and port.isdigit() and len(port) <= len("65535") else 0
    if not _HOST.fullmatch(host) or not 0 < number <= _LAST_PORT:
        raise PermanentCloudError(
            f"{EMULATOR}={emulator!r} is no address: write HOST:PORT, as `jobman emulator status` "
            "does, or unset it to work with Google Cloud"
        )


def _credentials() -> tuple[Any, str]:
    import google.auth
    from google.auth.exceptions import DefaultCredentialsError

    try:
        credentials, project = google.auth.default(scopes=_SCOPES)
    except DefaultCredentialsError as error:
        raise _no_credentials(": ".join(map(_sentence, error.args))) from error
    except (AttributeError, OSError, TypeError, ValueError) as error:
        # Google's library looks into files that others wrote as if they had to be right.
        raise _no_credentials(f"their file cannot be read: {error}") from error
    return credentials, project or ""


def _sentence(said: object) -> str:
    """Give what Google says first: what follows is a link to the remedy that we name."""
    return str(said).partition("\n")[0].partition(". ")[0].rstrip(".")


def _no_credentials(why: str) -> PermanentCloudError:
    return PermanentCloudError(
        f"no credentials for Google Cloud: {why}: run `gcloud auth application-default login`, or "
        "let GOOGLE_APPLICATION_CREDENTIALS name a service account's key file"
    )
