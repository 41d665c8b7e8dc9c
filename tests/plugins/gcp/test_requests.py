"""What is sent to the API for what a job asks for."""

from pathlib import Path
from typing import Any

import attrs
import pytest

from jobman_core.errors import PermanentCloudError
from jobman_core.models.slice import SliceRequest
from jobman_gcp.requests import Ask, build, problems, project_of

ZONE = "us-central2-b"
LABELS = {"jobman-owner": "ann"}


def request(mode: str = "tpu-vm", pricing: str = "ondemand", **options: Any) -> SliceRequest:
    return SliceRequest(
        cloud="gcp",
        accelerator="v4-16",
        zone=ZONE,
        pricing=pricing,
        mode=mode,
        runtime="tpu-ubuntu2204-base",
        options=options,
    )


def ask(mode: str = "tpu-vm", pricing: str = "ondemand", **options: Any) -> Ask:
    return build(request(mode, pricing, **options), "train-g1", "lab", LABELS)


def node(of: Ask) -> dict[str, Any]:
    body: dict[str, Any] = dict(of.body)
    if of.queued:
        (spec,) = body["tpu"]["node_spec"]
        body = spec["node"]
    return body


def wrong(mode: str = "tpu-vm", pricing: str = "ondemand", **options: Any) -> list[str]:
    return [f"{each.key}: {each.message}" for each in problems(request(mode, pricing, **options))]


def test_a_plain_request_asks_for_a_node_with_external_addresses() -> None:
    asked = ask()
    assert not asked.queued
    assert asked.parent == f"projects/lab/locations/{ZONE}"
    assert asked.body == {
        "accelerator_type": "v4-16",
        "runtime_version": "tpu-ubuntu2204-base",
        "network_config": {"enable_external_ips": True},
        "metadata": {},
        "scheduling_config": {"preemptible": False, "reserved": False, "spot": False},
        "labels": LABELS,
    }


@pytest.mark.parametrize("pricing", ["spot", "preemptible"])
def test_a_node_is_spot_or_preemptible(pricing: str) -> None:
    scheduling = node(ask(pricing=pricing))["scheduling_config"]
    assert [key for key, value in scheduling.items() if value] == [pricing]


def test_a_node_can_come_out_of_a_reservation() -> None:
    assert node(ask(flags=["--reserved"]))["scheduling_config"]["reserved"]


def test_a_queued_resource_names_its_one_node_and_labels_it() -> None:
    asked = ask("queued-resources", "spot")
    assert asked.queued
    (spec,) = asked.body["tpu"]["node_spec"]
    assert (spec["parent"], spec["node_id"]) == (asked.parent, "train-g1")
    assert spec["node"]["labels"] == LABELS
    assert "scheduling_config" not in spec["node"]
    assert asked.body["spot"] == {}


def test_a_queued_resource_on_demand_has_no_tier() -> None:
    body = ask("queued-resources").body
    assert not {"spot", "guaranteed", "best_effort", "queueing_policy"} & set(body)


def test_preemptible_is_spot_to_a_queued_resource() -> None:
    assert ask("queued-resources", "preemptible").body["spot"] == {}


def test_a_queued_resource_can_come_out_of_a_reservation() -> None:
    mine = ask("queued-resources", flags=["--reserved"])
    assert mine.body["reservation_name"] == f"projects/lab/locations/{ZONE}/reservations/-"
    theirs = ask("queued-resources", flags=["--reserved", "--reservation-host-folder=7"])
    assert theirs.body["reservation_name"] == f"folders/7/locations/{ZONE}/reservations/-"


def test_a_queued_resource_is_only_good_until_it_says() -> None:
    body = ask("queued-resources", flags=["--valid-until-duration=6h"]).body
    assert body["queueing_policy"] == {"valid_until_duration": {"seconds": 21600}}


def test_best_effort_is_asked_of_the_version_that_knows_it() -> None:
    asked = ask("queued-resources", flags=["--best-effort"])
    assert asked.alpha
    assert asked.body["best_effort"] == {}


def test_keys_of_jobman_join_those_that_the_user_lets_in() -> None:
    keyed = attrs.evolve(
        request(metadata={"ssh-keys": "bob:ssh-ed25519 B\n", "x": "y"}),
        public_keys=("ann:ssh-ed25519 A", "bob:ssh-ed25519 B"),
    )
    metadata = build(keyed, "train-g1", "lab", LABELS).body["metadata"]
    assert metadata == {"ssh-keys": "bob:ssh-ed25519 B\nann:ssh-ed25519 A", "x": "y"}


def test_tags_metadata_and_the_startup_script_go_along(tmp_path: Path) -> None:
    file = tmp_path / "value"
    file.write_text("from a file")
    body = node(
        ask(
            "queued-resources",
            tags=["a"],
            metadata={"k": "v"},
            startup_script="#!/bin/sh\ntrue\n",
            flags=["--tags=b,a", f"--metadata-from-file=f={file}", "--metadata=g=w"],
        )
    )
    assert body["tags"] == ["a", "b"]
    assert body["metadata"] == {
        "k": "v",
        "f": "from a file",
        "g": "w",
        "startup-script": "#!/bin/sh\ntrue\n",
    }


def test_the_flags_of_the_network_and_the_account_go_along() -> None:
    flags = [
        "--network=lab",
        "--subnetwork=eu",
        "--internal-ips",
        "--service-account=a@b",
        "--scopes=s",
        "--description=ours",
        "--range=10.0.0.0/29",
        "--data-disk=source=d",
        "--shielded-secure-boot",
        "--labels=team=vision",
    ]
    body = node(ask(flags=flags))
    assert body["network_config"] == {
        "enable_external_ips": False,
        "network": "lab",
        "subnetwork": "eu",
    }
    assert body["service_account"] == {"email": "a@b", "scope": ["s"]}
    assert body["description"] == "ours"
    assert body["cidr_block"] == "10.0.0.0/29"
    assert body["data_disks"] == [{"source_disk": "d", "mode": "READ_WRITE"}]
    assert body["shielded_instance_config"] == {"enable_secure_boot": True}
    assert body["labels"] == {"team": "vision", **LABELS}


def test_the_project_of_the_flags_beats_that_of_the_section() -> None:
    assert project_of(request(project="lab", flags=["--project=mine"])) == "mine"
    assert project_of(request(project="lab")) == "lab"
    assert project_of(request()) == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"flags": ["--colour=red"]}, "flags: unknown flag --colour"),
        ({"flags": ["--spot"]}, "flags: --spot: say it with tpu.pricing: spot"),
        ({"flags": ["--valid-until-duration=6h"]}, "tpu.allocation_mode: queued-resources"),
        ({"flags": ["--labels=Team=x"]}, "flags: --labels: Team=x is no label"),
        ({"flags": ["--labels=jobman-owner=x"]}, "jobman's own"),
        (
            {"metadata": {"startup-script": "x"}, "startup_script": "y"},
            "startup_script: metadata has a startup-script too",
        ),
    ],
)
def test_what_cannot_be_asked_for_is_a_problem_at_its_key(
    options: dict[str, Any], message: str
) -> None:
    (told,) = wrong(**options)
    assert message in told
    with pytest.raises(PermanentCloudError, match="tpu"):
        ask(**options)


def test_a_queued_resource_has_one_time_limit_and_one_price() -> None:
    until = ["--valid-until-duration=6h", "--valid-after-duration=1h"]
    assert "the API takes one of them" in wrong("queued-resources", flags=until)[0]
    cheap = ["--best-effort"]
    assert "leave out the other" in wrong("queued-resources", "spot", flags=cheap)[0]
    assert "tpu-vm" in wrong("queued-resources", flags=["--queue-count=2"])[0]


def test_a_file_of_metadata_that_is_gone_when_it_is_needed_is_told(tmp_path: Path) -> None:
    file = tmp_path / "value"
    file.write_bytes(b"\xff")
    with pytest.raises(PermanentCloudError, match="cannot be read"):
        ask(flags=[f"--metadata-from-file=f={file}"])
