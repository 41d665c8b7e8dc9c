"""What a dry run shows of a request."""

import json
from typing import Any

from jobman_core.models.slice import SliceRequest
from jobman_gcp.preview import preview
from jobman_gcp.requests import build

ZONE = "us-central2-b"
KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIEf8VeFkvyxv5Y0wJVNBHfVwNSrGBN9JVBvdCYMY7J6D"
LABELS = {"jobman-job": "000001"}


def shown(
    mode: str = "tpu-vm", pricing: str = "spot", *keys: str, **options: Any
) -> tuple[str, dict[str, Any]]:
    asked = SliceRequest("gcp", "v4-16", ZONE, pricing, mode, "base", keys, options)
    url, *body = preview(build(asked, "train-g1", "lab", LABELS))
    return url, json.loads("\n".join(body))


def test_a_node_is_shown_as_the_api_gets_it() -> None:
    assert shown(flags=["--labels=team=a"]) == (
        f"POST https://tpu.googleapis.com/v2/projects/lab/locations/{ZONE}/nodes?nodeId=train-g1",
        {
            "acceleratorType": "v4-16",
            "labels": {"jobman-job": "000001", "team": "a"},
            "networkConfig": {"enableExternalIps": True},
            "runtimeVersion": "base",
            "schedulingConfig": {"spot": True},
        },
    )


def test_a_queued_resource_is_shown_with_its_node_and_its_times() -> None:
    url, body = shown("queued-resources", "ondemand", flags=["--valid-until-duration=6h"])
    assert url.endswith(f"/locations/{ZONE}/queuedResources?queuedResourceId=train-g1")
    (spec,) = body["tpu"]["nodeSpec"]
    assert (spec["nodeId"], spec["node"]["labels"]) == ("train-g1", LABELS)
    assert body["queueingPolicy"] == {"validUntilDuration": "21600s"}


def test_keys_are_named_by_user_and_fingerprint() -> None:
    keys = (f"ada:ssh-ed25519 {KEY}", "bob:ssh-rsa rubbish!", "and so on")
    _, body = shown("tpu-vm", "spot", *keys)
    assert body["metadata"]["ssh-keys"] == [
        # As `ssh-keygen -l` tells it.
        "ada: ssh-ed25519 SHA256:mr9kXzHfbWkDaZ87paoRw7EzRZvzDEqIZyySiGfNzbI",
        "(20 characters)",
        "(9 characters)",
    ]
    assert KEY not in json.dumps(body)


def test_what_may_be_secret_is_not_shown() -> None:
    _, body = shown(metadata={"token": "hunter2"}, startup_script="export TOKEN=hunter2")
    assert body["metadata"] == {"startup-script": "(20 characters)", "token": "(7 characters)"}


def test_what_only_the_newer_version_knows_is_shown_as_sent_there() -> None:
    url, body = shown("queued-resources", "ondemand", flags=["--best-effort"])
    assert "/v2alpha1/" in url
    assert body["bestEffort"] == {}
