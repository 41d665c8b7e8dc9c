"""What job files and settings may say to this cloud."""

import attrs


@attrs.frozen
class GcpConfig:
    """The ``tpu`` section, as far as it is this cloud's own."""

    project: str | None = None
    #: Further flags of gcloud's own commands.
    flags: tuple[str, ...] = ()
    #: Network tags.
    tags: tuple[str, ...] = ()
    metadata: dict[str, str] | None = None
    #: Run as root on each host when it starts.
    startup_script: str | None = None


@attrs.frozen
class GcpSettings:
    """The section ``clouds.gcp`` of ``jobman.yaml``."""

    #: For jobs that name none.
    project: str | None = None
