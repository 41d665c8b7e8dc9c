"""What Google charged, from the export of Cloud Billing into BigQuery.

Source: the schema of the standard usage cost data (``gcp_billing_export_v1_…``), which the detailed
one shares. A table of the export is partitioned by the day on which its rows were written.
"""

import os
import re
import warnings
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import attrs

from jobman_core.errors import InvalidInputError, PermanentCloudError, TransientCloudError
from jobman_core.models.billing import Charge, Charges, Lacking
from jobman_gcp import billing_setup as setup
from jobman_gcp.account import Account
from jobman_gcp.names import read_label

if TYPE_CHECKING:
    from google.cloud.bigquery import Client, Table

#: A server that is asked instead of BigQuery, without credentials; Google's client heeds it.
EMULATOR: Final = "BIGQUERY_EMULATOR_HOST"
#: The label of slices that says whose they are.
_OWNER: Final = "jobman-owner"
#: More is not read, and not paid for, by one query: about a third of a dollar's worth.
MOST_READ: Final = 50 * 2**30
#: Seconds for an answer, and for all of a query.
_CALL: Final = 20.0
_QUERY: Final = 120.0
_PAGE: Final = 10_000
#: Rows are written after what they tell of, and by another clock.
_SLACK: Final = timedelta(days=1)
_NAME: Final = re.compile(
    r"(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]\.[A-Za-z0-9_]{1,1024}\.[\w-]{1,1024}", re.ASCII
)
_COLUMNS: Final = frozenset(
    {"usage_start_time", "service", "labels", "cost", "currency", "credits", "export_time"}
)
#: The name of a table cannot be a parameter; it is one that was looked at.
_SQL: Final = """
SELECT
  DATE(usage_start_time, @zone) AS day,
  service.description AS service_name,
  (SELECT label.value FROM UNNEST(labels) AS label WHERE label.key = @owner LIMIT 1) AS owner,
  currency,
  SUM(cost) AS cost,
  SUM(IFNULL((SELECT SUM(credit.amount) FROM UNNEST(credits) AS credit), 0)) AS credits,
  MAX(export_time) AS written
FROM `{table}`
WHERE usage_start_time >= @since AND usage_start_time < @until{partition}
GROUP BY 1, 2, 3, 4
"""
#: What is being written now has no day yet.
_PARTITION: Final = " AND (_PARTITIONTIME >= @partition OR _PARTITIONTIME IS NULL)"


@attrs.frozen
class Ask:
    """What is asked of the export."""

    table: str
    since: datetime
    until: datetime
    #: Whose days they are: ``Europe/Paris``, or ``+01:00``.
    zone: str


def check_name(table: str) -> None:
    """Refuse what is no name of a table, for it becomes a part of a query.

    Raises:
        InvalidInputError: it is none.
    """
    if not _NAME.fullmatch(table):
        msg = f"clouds.gcp.billing_table {table!r} is no table: write project.dataset.table"
        raise InvalidInputError(msg)


async def who_asks() -> Account:
    """Give the account that asks BigQuery; of a server in its place, nobody's.

    Raises:
        PermanentCloudError: there are no credentials.
    """
    if os.environ.get(EMULATOR):
        return Account()
    account = await Account.find()
    if account.emulator:
        msg = (
            "the emulator of Cloud TPU bills nobody: unset TPU_EMULATOR_HOST to read Google's bill"
        )
        raise PermanentCloudError(msg)
    return account


def costs(ask: Ask, account: Account, project: str) -> Charges | Lacking:
    """Ask BigQuery what was charged; blocks.

    Args:
        ask: what to ask.
        account: who asks.
        project: the one that pays for the query; empty: that of the table.

    Raises:
        PermanentCloudError: the query is refused.
        TransientCloudError: BigQuery did not answer.
    """
    from google.api_core.exceptions import Forbidden, GoogleAPICallError, NotFound
    from google.auth.exceptions import GoogleAuthError
    from requests.exceptions import RequestException

    client = _make_client(account, project or ask.table.partition(".")[0])
    try:
        table = client.get_table(ask.table, timeout=_CALL)
        if missing := sorted(_COLUMNS - {field.name for field in table.schema}):
            return setup.no_export(ask.table, missing)
        if not table.num_rows and table.streaming_buffer is None:
            return setup.nothing_yet(ask.table)
        return _query(client, ask, table)
    except NotFound as error:
        return setup.not_there(ask.table, _said(error))
    except Forbidden as error:
        return setup.forbidden(ask.table, client.project, _said(error))
    except GoogleAPICallError as error:
        if "bytesBilledLimitExceeded" in str(error) or "bytes billed" in str(error):
            msg = f"the bill would read more than {MOST_READ >> 30} GiB: choose a later --since"
            raise PermanentCloudError(msg) from error
        msg = f"BigQuery refuses to read {ask.table}: {_said(error)}: try again, or tell its owner"
        raise PermanentCloudError(msg) from error
    except GoogleAuthError as error:
        msg = f"BigQuery is not asked: {error}: run `gcloud auth application-default login`"
        raise PermanentCloudError(msg) from error
    except (RequestException, OSError) as error:
        msg = f"BigQuery cannot be reached: {type(error).__name__}: try again"
        raise TransientCloudError(msg) from error
    finally:
        client.close()  # type: ignore[no-untyped-call]


def _make_client(account: Account, project: str) -> "Client":
    with warnings.catch_warnings():
        # Of quotas of a project, and of Pythons that grow old.
        warnings.filterwarnings("ignore", module=r"google\.")
        from google.auth.credentials import AnonymousCredentials
        from google.cloud.bigquery import Client

        if os.environ.get(EMULATOR):
            return Client(project=project, credentials=AnonymousCredentials())  # type: ignore[no-untyped-call]
        return Client(project=project, credentials=account.credentials)


def _query(client: "Client", ask: Ask, table: "Table") -> Charges:
    from google.cloud.bigquery import QueryJobConfig, ScalarQueryParameter

    partitioned = table.time_partitioning is not None and table.time_partitioning.field is None
    sql = _SQL.format(table=ask.table, partition=_PARTITION if partitioned else "")
    values: list[tuple[str, str, Any]] = [
        ("zone", "STRING", ask.zone),
        ("owner", "STRING", _OWNER),
        ("since", "TIMESTAMP", ask.since),
        ("until", "TIMESTAMP", ask.until),
        *([("partition", "TIMESTAMP", ask.since - _SLACK)] if partitioned else []),
    ]
    config = QueryJobConfig(
        query_parameters=[ScalarQueryParameter(*value) for value in values],
        maximum_bytes_billed=MOST_READ,
        labels={"made-by": "jobman"},
    )
    rows = client.query_and_wait(
        sql,
        job_config=config,
        location=table.location,
        api_timeout=_CALL,
        wait_timeout=_QUERY,
        page_size=_PAGE,
    )
    found = list(rows)
    written = max((row["written"] for row in found), default=None)
    read = rows.total_bytes_processed or 0
    return Charges([_charge(row) for row in found], ask.table, written, read)


def _charge(row: Any) -> Charge:  # noqa: ANN401 - a row has the columns of its query
    day: date = row["day"]
    owner = read_label(row["owner"]) if row["owner"] else ""
    service, currency = row["service_name"] or "", row["currency"] or ""
    return Charge(
        day, service, owner, currency, float(row["cost"] or 0), float(row["credits"] or 0)
    )


def _said(error: Any) -> str:  # noqa: ANN401 - any of Google's errors
    return " ".join(str(error.message).split())
