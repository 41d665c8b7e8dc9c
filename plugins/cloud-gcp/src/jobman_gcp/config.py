"""What job files and settings may say to this cloud."""

import attrs


@attrs.frozen
class GcpConfig:
    """The ``tpu`` section, as far as it is this cloud's own."""

    #: The cloud project; by default that of the settings, else of the account.
    project: str | None = None
    #: Further flags of gcloud's own commands.
    flags: tuple[str, ...] = ()
    #: Network tags.
    tags: tuple[str, ...] = ()
    #: Metadata of the hosts.
    metadata: dict[str, str] | None = None
    #: Run as root on each host when it starts.
    startup_script: str | None = None


@attrs.frozen
class GcpSettings:
    """``clouds.gcp``: what holds for all slices at Google Cloud."""

    #: For jobs that name none.
    project: str | None = None
    #: The export of Cloud Billing into BigQuery: ``project.dataset.table``.
    billing_table: str | None = None
