"""``tpu.flags``: what gcloud's users have in their files."""

import contextlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobman_gcp.flags import Flags, WrongFlagError, read_flags


def test_no_flags_ask_for_nothing() -> None:
    assert read_flags([]) == Flags()


@pytest.mark.parametrize(
    ("items", "wanted"),
    [
        (["--network=lab"], Flags(network="lab")),
        (["--network", "lab"], Flags(network="lab")),
        (["--subnetwork=lab-eu", "--internal-ips"], Flags(subnetwork="lab-eu", internal_ips=True)),
        (["--internal-ips=false"], Flags()),
        (["--scopes=a,b", "--service-account=x"], Flags(scopes=("a", "b"), service_account="x")),
        (["--tags=a,b", "--tags=c"], Flags(tags=("a", "b", "c"))),
        (["--metadata=k=v,l=w=x"], Flags(metadata={"k": "v", "l": "w=x"})),
        (["--metadata=^;^k=a,b;l=c"], Flags(metadata={"k": "a,b", "l": "c"})),
        (["--labels=team=vision"], Flags(labels={"team": "vision"})),
        (["--project=p", "--reserved", "--description=a b"],
         Flags(project="p", reserved=True, description="a b")),
        (["--valid-until-duration=6h"], Flags(valid_until_duration=21600)),
        (["--valid-until-duration", "1d30m"], Flags(valid_until_duration=88200)),
        (["--valid-until-time=2030-01-31T18:00:00Z"],
         Flags(valid_until_time=datetime(2030, 1, 31, 18, tzinfo=UTC))),
        (["--range=10.1.0.0/29", "--queue-count=4"], Flags(range="10.1.0.0/29", queue_count=4)),
        (["--data-disk=source=d,mode=read-only"],
         Flags(data_disk=({"source_disk": "d", "mode": "READ_ONLY"},))),
        (["--shielded-secure-boot"], Flags(shielded_secure_boot=True)),
        (["--enable-secure-boot"], Flags(shielded_secure_boot=True)),
        (["--best-effort"], Flags(best_effort=True)),
        (["--quiet", "--async"], Flags()),
    ],
)  # fmt: skip
def test_the_flags_of_gcloud_are_understood(items: Sequence[str], wanted: Flags) -> None:
    assert read_flags(items) == wanted


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (["--netwrok=lab"], "unknown flag --netwrok (did you mean --network?)"),
        (["--colour=red"], "unknown flag --colour: jobman understands --"),
        (["--zone=us-central2-b"], "--zone: say it with tpu.zone"),
        (["--node-count=2"], "--node-count: a job has one slice"),
        (["--network lab"], "write --NAME=VALUE"),
        (["network=lab"], "'network=lab' is no flag"),
        (["--"], "'--' is no flag"),
        (["--network"], "--network: it needs a value"),
        (["--queue-count=2147483648"], "--queue-count: '2147483648' is no whole number up to"),
        (["--queue-count", "9" * 5000], "is no whole number up to 2147483647"),
        (["--valid-until-duration=4000000d"], "'4000000d' is longer than the API's longest"),
        (["--valid-until-duration", "9" * 5000], "is no whole number up to 2147483647"),
        (["--valid-until-time=9999-12-31T23:59:59-12:00"], "is no time: write one like 2030"),
        (["--network", "--spot"], "--network: it needs a value"),
        (["--spot", "yes"], "'yes' is no flag"),
        (["--internal-ips=maybe"], "'maybe' is neither true nor false"),
        (["--metadata=k"], "--metadata: 'k' is no KEY=VALUE"),
        (["--valid-until-duration=soon"], "'soon' is no duration"),
        (["--valid-until-duration="], "it needs a value"),
        (["--valid-until-time=soon"], "'soon' is no time"),
        (["--queue-count=many"], "'many' is no whole number"),
        (["--data-disk=d"], "'d' is no KEY=VALUE"),
        (["--data-disk=source=d,mode=best"], "write source=DISK"),
        (["--metadata-from-file=k=here"], "'here' depends on a folder"),
        (["--metadata-from-file=k=/no/such/file"], "there is no file '/no/such/file'"),
    ],
)
def test_a_flag_that_cannot_be_followed_is_named(items: Sequence[str], message: str) -> None:
    with pytest.raises(WrongFlagError) as caught:
        read_flags(items)
    assert message in str(caught.value)


def test_a_file_of_metadata_has_to_be_there(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("text")
    flags = read_flags([f"--metadata-from-file=k={file}"])
    assert flags.metadata_from_file == {"k": str(file)}


@given(st.lists(st.one_of(st.text(max_size=12), st.sampled_from(["--metadata", "--spot", "--x="]))))
def test_no_list_of_flags_gives_anything_but_flags_or_a_message(items: list[str]) -> None:
    with contextlib.suppress(WrongFlagError):
        assert isinstance(read_flags(items), Flags)
