"""What `create` is told of buckets, by servers that answer as Cloud Storage does."""

import json
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest
from tests.plugins.gcsfuse.conftest import spec_of
from tests.support.buckets import BucketServer

from jobman_core.interfaces.backend import Problem
from jobman_gcsfuse import Gcsfuse
from jobman_gcsfuse.check import look_up

EMULATOR: Final = "STORAGE_EMULATOR_HOST"
ONE: Final[Mapping[str, Any]] = {"bucket_name": "my-bucket", "mount_path": "gcs"}

#: An answer: a status, and what it says.
Answers = Mapping[str, tuple[int, Mapping[str, Any]]]


@contextmanager
def cloud_storage(answers: Answers, *, hangs: bool = False) -> Iterator[str]:
    """Answer requests by what their path ends with; give the URL."""
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if hangs:
                over.wait()
            path = self.path.partition("?")[0]
            status, said = answers.get(path.rpartition("/b/")[2], (404, {}))
            body = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            over.set()
            server.shutdown()
            thread.join()


async def ask(
    monkeypatch: pytest.MonkeyPatch,
    answers: Answers,
    section: Mapping[str, Any] = ONE,
    **more: Any,
) -> list[Problem]:
    with cloud_storage(answers) as url:
        monkeypatch.setenv(EMULATOR, url)
        return await look_up(spec_of(section, **more))


def at(location: str, *regions: str) -> tuple[int, Mapping[str, Any]]:
    """Say where a bucket is."""
    said: dict[str, Any] = {"name": "b", "location": location}
    if regions:
        said["customPlacementConfig"] = {"dataLocations": regions}
    return 200, said


async def test_a_bucket_beside_the_hosts_is_fine(
    storage: Gcsfuse, buckets: BucketServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(EMULATOR, buckets.url)
    assert list(await storage.check(spec_of(ONE))) == []


async def test_a_bucket_that_is_not_there_is_a_fault(
    storage: Gcsfuse, buckets: BucketServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(EMULATOR, buckets.url)
    section = {**ONE, "extra_mounts": [{"bucket_name": "nobodys", "mount_path": "x"}]}
    told = "there is no bucket gs://nobodys: check its name, or make it"
    assert list(await storage.check(spec_of(section))) == [
        Problem("extra_mounts[0].bucket_name", told, "--force-region")
    ]


async def test_a_bucket_in_another_region_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    (problem,) = await ask(
        monkeypatch,
        {"my-bucket": at("EUROPE-WEST4")},
        zones=("us-central2-b", "europe-west4-a", "us-east5-b"),
    )
    assert problem == Problem(
        "bucket_name",
        "gs://my-bucket is in europe-west4, far from us-central2-b, us-east5-b: take a bucket "
        "there (reading across regions is slow and costs)",
        "--force-region",
    )


@pytest.mark.parametrize(
    "where", [at("NAM4"), at("US"), at("US", "US-CENTRAL1", "US-WEST1")], ids=str
)
async def test_one_in_several_regions_is_near_each_of_them(
    monkeypatch: pytest.MonkeyPatch, where: Any
) -> None:
    assert await ask(monkeypatch, {"my-bucket": where}, zones=("us-central1-a",)) == []
    (problem,) = await ask(monkeypatch, {"my-bucket": where}, zones=("asia-northeast1-b",))
    assert "far from asia-northeast1-b" in problem.message


async def test_no_region_is_far_from_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await ask(monkeypatch, {"my-bucket": at("EU")}, cloud="local", zones=("here",)) == []
    assert len(await ask(monkeypatch, {}, cloud="local", zones=("here",))) == 1


async def test_a_place_that_nobody_knows_is_told_and_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (problem,) = await ask(monkeypatch, {"my-bucket": at("MARS9X")})
    assert problem.doubt
    assert "whether that is near us-central2-b is not known" in problem.message


async def test_a_bucket_that_may_not_be_read_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: Answers = {"my-bucket": (403, {}), "my-bucket/o": (403, {})}
    (problem,) = await ask(monkeypatch, answers)
    told = "you may not read gs://my-bucket: have roles/storage.objectUser granted on it"
    assert problem == Problem("bucket_name", told, "--force-region")


async def test_one_that_may_be_read_but_not_looked_up_is_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers: Answers = {"my-bucket": (403, {}), "my-bucket/o": (200, {"items": []})}
    (problem,) = await ask(monkeypatch, answers)
    assert problem.doubt
    assert "you may use it, but not see where it is" in problem.message


async def test_each_bucket_is_asked_for_once_where_it_is_named_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    extra = [
        {"mount_path": "cached"},
        {"bucket_name": "my-bucket", "mount_path": "again"},
        {"bucket_name": "other", "mount_path": "other"},
    ]
    problems = await ask(monkeypatch, {}, {**ONE, "extra_mounts": extra})
    assert [one.key for one in problems] == ["bucket_name", "extra_mounts[2].bucket_name"]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((401, {}), "gcloud auth application-default login"),
        ((500, {}), "InternalServerError"),
        ((200, {"name": "b"}), "it does not say where it is"),
    ],
)
async def test_an_answer_that_says_nothing_of_the_bucket_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, answer: Any, told: str
) -> None:
    (problem,) = await ask(monkeypatch, {"my-bucket": answer})
    assert (problem.doubt, problem.waiver) == (True, None)
    assert problem.message.startswith("gs://my-bucket was not looked up: ")
    assert told in problem.message


async def test_nobody_there_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    with cloud_storage({}) as url:
        pass
    monkeypatch.setenv(EMULATOR, url)
    (problem,) = await look_up(spec_of(ONE))
    assert problem.doubt
    told = "gs://my-bucket was not looked up: Cloud Storage cannot be reached: "
    assert problem.message.startswith(told)
    assert problem.message.endswith("[Errno 111] Connection refused")


async def test_without_credentials_it_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(EMULATOR, raising=False)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    (problem,) = await look_up(spec_of(ONE))
    assert problem.doubt
    assert "no credentials for Google Cloud" in problem.message


async def test_what_googles_library_warns_of_is_not_for_whoever_creates_a_job(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Of such an account it says at length that it has no project for quotas.
    account = {
        "type": "authorized_user",
        "client_id": "764086051850-6qr4p6gpi6hn506pt8ejuq83di341hur.apps.googleusercontent.com",
        "client_secret": "s",
        "refresh_token": "r",
    }
    # Nobody is asked whether the account is good.
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    (tmp_path / "key.json").write_text(json.dumps(account))
    monkeypatch.delenv(EMULATOR, raising=False)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "key.json"))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        (problem,) = await look_up(spec_of(ONE))
    assert (problem.doubt, heard) == (True, [])
    assert "Cloud Storage cannot be reached" in problem.message


async def test_a_server_that_hangs_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = time.monotonic()
    with cloud_storage({}, hangs=True) as url:
        monkeypatch.setenv(EMULATOR, url)
        (problem,) = await look_up(spec_of(ONE), limit=0.3)
    assert problem.doubt
    assert "did not answer within 0.3 s" in problem.message
    assert time.monotonic() - begun < 4


@pytest.mark.parametrize(
    ("section", "key", "told"),
    [
        ({"bucket_name": "gs://my-bucket/"}, "bucket_name", "no name of a bucket: write my-bucket"),
        ({"bucket_name": "-o"}, "bucket_name", "'-o' is no name of a bucket"),
        ({"mount_path": "~/"}, "mount_path", "a folder of its own"),
        ({"mount_path": "/"}, "mount_path", "a folder of its own"),
        ({"mount_path": "../gcs"}, "mount_path", "a folder of its own"),
        (
            {"extra_mounts": [{"mount_path": "~/gcs/"}]},
            "extra_mounts[0].mount_path",
            "something is mounted at gcs already",
        ),
        (
            {"cache": {"enable_parallel_downloads": True}},
            "cache.enable_parallel_downloads",
            "the file cache has no folder: write `dir:` with one",
        ),
    ],
)
async def test_what_is_wrong_with_the_section_alone_is_told_without_asking_anybody(
    storage: Gcsfuse, section: Mapping[str, Any], key: str, told: str
) -> None:
    (problem,) = await storage.check(spec_of({**ONE, **section}))
    assert (problem.key, problem.waiver, problem.doubt) == (key, None, False)
    assert told in problem.message
