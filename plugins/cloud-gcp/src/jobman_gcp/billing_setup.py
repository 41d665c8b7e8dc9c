"""What to set up before Google's bill can be read, told by what is missing of it.

Source: "Set up Cloud Billing data export to BigQuery" of Google's documentation.
"""

from collections.abc import Sequence
from typing import Final

from jobman_core.models.billing import Lacking

_EXPORT: Final = (
    "switch the export on: https://console.cloud.google.com/billing/export, Standard usage cost, "
    "Edit settings; it wants a dataset of BigQuery (in US or EU it gets last month's data too) and "
    "the role roles/billing.admin"
)
_WAIT: Final = (
    "wait: the table gcp_billing_export_v1_<ACCOUNT> appears within a day, and older data within "
    "five; what is used now is in there some hours later"
)
_SETTING: Final = (
    "write its name into jobman.yaml: clouds: {gcp: {billing_table: PROJECT.DATASET."
    "gcp_billing_export_v1_XXXXXX_XXXXXX_XXXXXX}}"
)
_ROLES: Final = (
    "have roles/bigquery.dataViewer granted on the dataset, and roles/bigquery.jobUser on the "
    "project that jobman works in"
)


def not_named() -> Lacking:
    """Say what to do where no setting names a table."""
    return Lacking(
        "no export of Cloud Billing is named in jobman.yaml (clouds.gcp.billing_table)",
        (_EXPORT, _WAIT, _SETTING, _ROLES),
    )


def not_there(table: str, said: str) -> Lacking:
    """Say what to do where there is no such table."""
    return Lacking(
        f"there is no table {table}: {said}",
        ("check the name in jobman.yaml (clouds.gcp.billing_table)", _EXPORT, _WAIT),
    )


def forbidden(table: str, project: str, said: str) -> Lacking:
    """Say what to do where whoever asks may not read the table, or ask anything."""
    enable = f"gcloud services enable bigquery.googleapis.com --project {project}"
    return Lacking(
        f"you may not read {table}: {said}", (_ROLES, f"see that BigQuery is on: {enable}")
    )


def nothing_yet(table: str) -> Lacking:
    """Say what to do where the export has written nothing so far."""
    return Lacking(f"nothing is in {table} yet", (_WAIT,))


def no_export(table: str, missing: Sequence[str]) -> Lacking:
    """Say what to do where a table is another one."""
    columns = ", ".join(missing)
    return Lacking(
        f"{table} is no export of usage costs: it has no {columns}",
        ("name the table gcp_billing_export_v1_… in jobman.yaml (clouds.gcp.billing_table)",),
    )
