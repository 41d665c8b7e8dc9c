"""A BigQuery on this machine: tables with rows, and queries that are carried out.

It speaks the REST API as far as Google's client asks for the sums of a table: ``tables.get``,
``jobs.query``, ``jobs.get`` and ``jobs.getQueryResults``. A query is carried out by SQLite, after
what BigQuery writes otherwise is put into SQLite's words; its parameters have to be declared, and
be of their type.
"""

import contextlib
import itertools
import json
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit
from zoneinfo import ZoneInfo

import attrs
from tests.support.serving import serving_http

#: What the export of Cloud Billing has, as far as anybody asks for it.
EXPORT: Final[Mapping[str, str]] = {
    "usage_start_time": "TIMESTAMP",
    "export_time": "TIMESTAMP",
    "service": "RECORD",
    "labels": "RECORD",
    "currency": "STRING",
    "cost": "FLOAT",
    "credits": "RECORD",
}
#: The pseudo column of a table that is partitioned by the day of writing.
_PARTITION: Final = "_PARTITIONTIME"
#: What a query's columns are, by name; all others are texts.
_TYPES: Final = {"day": "DATE", "cost": "FLOAT", "credits": "FLOAT", "written": "TIMESTAMP"}
_DAYS: Final = datetime(1970, 1, 1, tzinfo=UTC)


@attrs.define
class Table:
    """A table, and how it answers."""

    rows: Sequence[Mapping[str, Any]] = ()
    columns: Mapping[str, str] = attrs.field(factory=lambda: EXPORT)
    partitioned: bool = True
    location: str = "EU"
    #: Bytes that a query reads.
    size: int = 1_000_000
    #: HTTP status of a look at it, and of a query, with the reason; None: it answers.
    look: tuple[int, str] | None = None
    query: tuple[int, str] | None = None


@attrs.define
class BigQuery:
    """All tables, by their full names, and what was asked."""

    tables: dict[str, Table] = attrs.field(factory=dict)
    #: Rows of a page, and how often a query is not done yet when somebody looks.
    page: int = 1000
    slow: int = 0
    #: The bodies of the queries.
    queries: list[dict[str, Any]] = attrs.field(factory=list)
    _jobs: dict[str, tuple[Table, list[str], list[tuple[Any, ...]]]] = attrs.field(factory=dict)
    _ids: Iterator[int] = attrs.field(factory=lambda: itertools.count(1))

    def table(self, project: str, dataset: str, name: str) -> dict[str, Any]:
        """Answer ``tables.get``."""
        full = f"{project}.{dataset}.{name}"
        if full not in self.tables:
            raise RefusedError(404, "notFound", f"Not found: Table {project}:{dataset}.{name}")
        table = self.tables[full]
        if table.look:
            raise RefusedError(*table.look, f"Access Denied: Table {project}:{dataset}.{name}")
        fields = [{"name": key, "type": kind} for key, kind in table.columns.items()]
        return {
            "tableReference": {"projectId": project, "datasetId": dataset, "tableId": name},
            "schema": {"fields": fields},
            "numRows": str(len(table.rows)),
            "location": table.location,
            **({"timePartitioning": {"type": "DAY"}} if table.partitioned else {}),
        }

    def ask(self, project: str, body: dict[str, Any]) -> dict[str, Any]:
        """Answer ``jobs.query``."""
        self.queries.append(body)
        (name,) = re.findall(r"FROM `([^`]+)`", body["query"])
        table = self.tables[name]
        if table.query:
            raise RefusedError(*table.query, f"Access Denied: Project {project}")
        if body.get("location") != table.location:
            raise RefusedError(404, "notFound", f"Not found: Dataset {name} in location US")
        if table.size > int(body["maximumBytesBilled"]):
            told = f"Query exceeded limit for bytes billed: {body['maximumBytesBilled']}"
            raise RefusedError(400, "bytesBilledLimitExceeded", told)
        job = f"job_{next(self._ids)}"
        self._jobs[job] = (table, *_carried_out(table, body))
        return self.results(project, job, 0)

    def results(self, project: str, job: str, start: int) -> dict[str, Any]:
        """Answer ``jobs.getQueryResults``."""
        table, names, rows = self._jobs[job]
        answer = {
            "jobReference": {"projectId": project, "jobId": job, "location": table.location},
            "totalBytesProcessed": str(table.size),
            "jobComplete": self.slow <= 0,
        }
        if self.slow > 0:
            self.slow -= 1
            return answer
        found = rows[start : start + self.page]
        over = start + len(found)
        fields = [{"name": name, "type": _TYPES.get(name, "STRING")} for name in names]
        return {
            **answer,
            "schema": {"fields": fields},
            "totalRows": str(len(rows)),
            "rows": [
                {"f": [{"v": _shown(*cell)} for cell in zip(names, row, strict=True)]}
                for row in found
            ],
            **({"pageToken": str(over)} if over < len(rows) else {}),
        }

    def job(self, project: str, job: str) -> dict[str, Any]:
        """Answer ``jobs.get``."""
        table, *_ = self._jobs[job]
        return {
            "jobReference": {"projectId": project, "jobId": job, "location": table.location},
            "configuration": {"query": {"query": self.queries[-1]["query"]}, "jobType": "QUERY"},
            "status": {"state": "RUNNING" if self.slow > 0 else "DONE"},
            "statistics": {"query": {"totalBytesProcessed": str(table.size)}},
        }


class RefusedError(Exception):
    """An error as the API gives it."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.answer = {
            "error": {
                "code": status,
                "message": message,
                "errors": [{"reason": reason, "message": message}],
            }
        }


def _carried_out(table: Table, body: dict[str, Any]) -> tuple[list[str], list[tuple[Any, ...]]]:
    parameters = {each["name"]: _value(each) for each in body["queryParameters"]}
    database = sqlite3.connect(":memory:")
    try:
        database.create_function("DATE", 2, _date)
        columns = [*table.columns, *([_PARTITION] if table.partitioned else [])]
        database.execute(f"CREATE TABLE t ({', '.join(columns)})")
        marks = ", ".join("?" * len(columns))
        for row in table.rows:
            values = [_kept(row.get(column)) for column in columns]
            database.execute(f"INSERT INTO t VALUES ({marks})", values)  # noqa: S608 - marks
        cursor = database.execute(_translated(body["query"]), parameters)
        return [column[0] for column in cursor.description], cursor.fetchall()
    except (sqlite3.Error, KeyError, ValueError) as error:
        raise RefusedError(400, "invalidQuery", f"{error}") from error
    finally:
        database.close()


def _translated(query: str) -> str:
    """Put what BigQuery writes into SQLite's words: names, parameters, records and lists."""
    text = re.sub(r"`[^`]+`", "t", query).replace("@", ":")
    for alias in re.findall(r"UNNEST\(\w+\) AS (\w+)", text):
        text = re.sub(rf"\b{alias}\.(\w+)", rf"json_extract({alias}.value, '$.\1')", text)
    text = re.sub(r"UNNEST\((\w+)\)", r"json_each(\1)", text)
    return re.sub(r"\bservice\.(\w+)", r"json_extract(service, '$.\1')", text)


def _value(parameter: dict[str, Any]) -> str:
    kind, value = parameter["parameterType"]["type"], parameter["parameterValue"]["value"]
    return _moment(datetime.fromisoformat(value)) if kind == "TIMESTAMP" else str(value)


def _kept(value: Any) -> Any:
    if isinstance(value, datetime):
        return _moment(value)
    return json.dumps(value) if isinstance(value, dict | list) else value


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds")


def _date(text: str, zone: str) -> str:
    """Give the day of a moment in a zone: by its name, or as it is from UTC."""
    if match := re.fullmatch(r"([+-])(\d\d):(\d\d)", zone):
        away = timedelta(hours=int(match[2]), minutes=int(match[3]))
        there: Any = timezone(-away if match[1] == "-" else away)
    else:
        there = ZoneInfo(zone)
    return datetime.fromisoformat(text).astimezone(there).date().isoformat()


def _shown(name: str, value: Any) -> str | None:
    if value is not None and _TYPES.get(name) == "TIMESTAMP":
        since = datetime.fromisoformat(value) - _DAYS
        return str(since // timedelta(microseconds=1))
    return None if value is None else str(value)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    service: BigQuery


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        self._respond(None)

    def do_POST(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        self._respond(json.loads(self.rfile.read(size) or b"{}"))

    def _respond(self, body: dict[str, Any] | None) -> None:
        try:
            status, answer = 200, self._answer(body)
        except RefusedError as refused:
            status, answer = refused.status, refused.answer
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _answer(self, body: dict[str, Any] | None) -> dict[str, Any]:
        url = urlsplit(self.path)
        asked = parse_qs(url.query)
        service = self.server.service
        match url.path.removeprefix("/bigquery/v2/projects/").split("/"):
            case [project, "datasets", dataset, "tables", name]:
                return service.table(project, dataset, name)
            case [project, "queries"] if body is not None:
                return service.ask(project, body)
            case [project, "queries", job]:
                return service.results(project, job, int(asked.get("pageToken", ["0"])[0]))
            case [project, "jobs", job]:
                return service.job(project, job)
        raise RefusedError(404, "notFound", f"{self.path} is not served")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's word
        """Say nothing."""


@contextlib.contextmanager
def serving(service: BigQuery) -> Iterator[str]:
    """Serve it; gives the URL."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.service = service
    with serving_http(server) as url:
        yield url
