"""What errors of the Cloud TPU API mean, by the texts that people have met."""

import pytest

from jobman_core.errors import (
    CloudError,
    PermanentCloudError,
    StockoutError,
    TransientCloudError,
)
from jobman_gcp.errors import Code, Failure, refusal, trouble

WHAT = "v4-8 in us-central2-b"


@pytest.mark.parametrize(
    ("code", "text", "kind"),
    [
        (8, 'There is no more capacity in the zone "us-central2-b".', StockoutError),
        (8, "Insufficient reserved capacity for request.", StockoutError),
        (9, "Insufficient reserved capacity for request.", StockoutError),
        (8, "Quota limit 'TPUV4' has been exceeded. Limit: 0 in region us-central2.",
         PermanentCloudError),
        (8, "Quota 'TPUV4' exhausted. Limit 32 in zone us-central2-b", StockoutError),
        (8, "Quota limit 'TPUV4' has been exceeded. Limit: 0.5 in region us-central2.",
         StockoutError),
        (8, "Quota exceeded for quota metric 'CreateNode' and limit 'CreateNode per minute'",
         TransientCloudError),
        (8, "something is used up", StockoutError),
        (3, 'Cloud TPU received an invalid AcceleratorType, "v3-8" for zone us-central2-b',
         PermanentCloudError),
        (3, "update is not supported while in state PREEMPTED", TransientCloudError),
        (7, "Location us-central9-b is not found or access is unauthorized.", PermanentCloudError),
        (7, "Permission 'tpu.nodes.create' denied on 'projects/p'", PermanentCloudError),
        (5, "network 'lab' was not found", PermanentCloudError),
        (9, "Service account is not ready", PermanentCloudError),
        (12, "no such method", PermanentCloudError),
        (13, "Internal error", TransientCloudError),
        (13, "", TransientCloudError),
        (14, "failed to connect to all addresses", TransientCloudError),
        (4, "no answer within 15 s", TransientCloudError),
        (4, "The request was not fulfilled before valid_until_time", StockoutError),
        (16, "Reauthentication is needed", TransientCloudError),
        (2, "odd", TransientCloudError),
        (99, "odd", TransientCloudError),
    ],
)  # fmt: skip
def test_a_refusal_is_permanent_a_stockout_or_passes(
    code: int, text: str, kind: type[CloudError]
) -> None:
    error = refusal(Failure(code, text), WHAT)
    assert type(error) is kind
    assert WHAT in str(error)
    assert text.rstrip(".") in str(error)
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("code", "text", "remedy"),
    [
        (7, "Permission 'tpu.nodes.create' denied", "roles/tpu.admin"),
        (7, "Cloud TPU API has not been used in project 7 before or it is disabled",
         "gcloud services enable tpu.googleapis.com"),
        (8, "Quota limit 'X' has been exceeded. Limit: 0 in region R.", "Quotas page"),
        (16, "expired", "gcloud auth application-default login"),
        (3, "bad runtimeVersion", "correct the tpu section"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_to_do(code: int, text: str, remedy: str) -> None:
    assert remedy in str(refusal(Failure(code, text), WHAT))


def test_a_stockout_is_told_in_a_line_or_two() -> None:
    google = (
        'There is no more capacity in the zone "us-central2-b"; you can try in another zone where '
        "Cloud TPU Nodes are offered (see https://cloud.google.com/tpu/docs/regions)"
    )
    assert str(refusal(Failure(8, google), WHAT)) == (
        "no capacity for v4-8 in us-central2-b: There is no more capacity in the zone "
        '"us-central2-b"; tpu.zones can name more zones'
    )


def test_trouble_with_a_delete_passes_unless_the_account_may_not() -> None:
    what = "slice train-g1 cannot be deleted"
    assert type(trouble(Failure(Code.FAILED_PRECONDITION, "not now"), what)) is TransientCloudError
    assert type(trouble(Failure(Code.INTERNAL, ""), what)) is TransientCloudError
    assert type(trouble(Failure(Code.PERMISSION_DENIED, "no"), what)) is PermanentCloudError
    assert "auth application-default" in str(trouble(Failure(Code.UNAUTHENTICATED, "x"), what))
