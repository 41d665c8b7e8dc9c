"""What of an account keeps jobman from working with Cloud TPU, and what mends it. Pure.

Sources: the roles and permissions of Google's IAM; the metadata key ``enable-oslogin`` of Compute
Engine. Which permissions queued resources take could not be verified without an account.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

import attrs

from jobman_core.command import quote
from jobman_core.models.checkup import Checkup, Health
from jobman_core.models.quota import Allowance

#: API: what is not to be had without it.
APIS: Final[Mapping[str, str]] = {
    "tpu.googleapis.com": "no slice can be asked for",
    "compute.googleapis.com": "external addresses and disks are not in `jobman quota`, and nobody "
    "can say whether OS Login hides the keys of slices",
    "cloudquotas.googleapis.com": "`jobman quota` knows no limits of TPUs",
    "monitoring.googleapis.com": "`jobman storage` cannot ask for the sizes of buckets",
}
#: Without this one nothing works.
_NEEDED: Final = "tpu.googleapis.com"
#: Seconds by which a clock may be off; Google refuses what is signed by one that is minutes off.
_DRIFT, _REFUSED = 30.0, 300.0


@attrs.frozen
class Right:
    """Permissions that are of use together."""

    #: What they are for.
    purpose: str
    permissions: tuple[str, ...]
    #: The role that brings them.
    role: str
    #: How it stands without them.
    lacking: Health


RIGHTS: Final = (
    Right(
        "making slices",
        (
            "tpu.nodes.create",
            "tpu.nodes.delete",
            "tpu.nodes.get",
            "tpu.nodes.list",
            "tpu.operations.get",
        ),
        "roles/tpu.admin",
        Health.BROKEN,
    ),
    Right(
        "queued resources",
        (
            "tpu.queuedresources.create",
            "tpu.queuedresources.delete",
            "tpu.queuedresources.get",
            "tpu.queuedresources.list",
        ),
        "roles/tpu.admin",
        Health.BROKEN,
    ),
    Right(
        "limits of TPUs in `jobman quota`",
        ("cloudquotas.quotas.get",),
        "roles/cloudquotas.viewer",
        Health.DOUBT,
    ),
    Right(
        "seeing OS Login and what hosts take",
        ("compute.projects.get", "compute.regions.list"),
        "roles/compute.viewer",
        Health.DOUBT,
    ),
)


def judge_apis(enabled: Collection[str], project: str) -> Iterator[Checkup]:
    """Say which APIs a project has not enabled."""
    missing = [api for api in APIS if api not in enabled]
    if not missing:
        yield Checkup.well("APIs", f"all {len(APIS)} are enabled")
    for api in missing:
        judge = Checkup.broken if api == _NEEDED else Checkup.doubt
        told = f"{api} is not enabled: {APIS[api]}"
        enable = quote(["gcloud", "services", "enable", api, "--project", project])
        yield judge("APIs", told, f"run `{enable}`")


def judge_rights(granted: Mapping[str, Collection[str]], project: str) -> Iterator[Checkup]:
    """Say whether an account has what each purpose takes.

    Args:
        granted: what it has of each purpose's permissions; those that nobody could tell are left
            out.
        project: where.
    """
    name, good = "rights", []
    for right in RIGHTS:
        if right.purpose not in granted:
            continue
        missing = [each for each in right.permissions if each not in granted[right.purpose]]
        if not missing:
            good.append(right.purpose)
            continue
        told = f"for {right.purpose} the account lacks {', '.join(missing)}"
        grant = ["gcloud", "projects", "add-iam-policy-binding", project, "--role", right.role]
        remedy = f"let an owner of the project run `{quote(grant)} --member user:YOUR-ADDRESS`"
        yield Checkup(name, right.lacking, told, remedy)
    if good:
        yield Checkup.well(name, f"for {', '.join(good)}")


def judge_os_login(metadata: Mapping[str, str]) -> Checkup:
    """Say whether hosts take the keys that jobman gives to a slice.

    Args:
        metadata: of the project.
    """
    name = "OS Login"
    if metadata.get("enable-oslogin", "").upper() != "TRUE":
        return Checkup.well(name, "off: hosts take the keys that a slice is given")
    remedy = 'write `metadata: {enable-oslogin: "FALSE"}` into the tpu section of job files'
    return Checkup.doubt(name, "on in this project: hosts pass over a slice's own keys", remedy)


def judge_clock(ahead: float) -> Checkup:
    """Say whether this machine's clock is right.

    Args:
        ahead: seconds by which it is ahead of Google's.
    """
    name = "clock"
    if abs(ahead) <= _DRIFT:
        return Checkup.well(name, f"within {_DRIFT:g} s of the cloud's")
    way = "ahead of" if ahead > 0 else "behind"
    told, remedy = f"{abs(ahead):.0f} s {way} the cloud's", "run `sudo timedatectl set-ntp true`"
    if abs(ahead) > _REFUSED:
        return Checkup.broken(name, f"{told}: what it signs is refused", remedy)
    return Checkup.doubt(name, told, remedy)


def judge_quota(limits: Sequence[int | None], project: str) -> Checkup:
    """Say whether a project may have any TPU at all.

    Args:
        limits: on chips, wherever there are any; None: there is no limit.
        project: whose.
    """
    name = "quota"
    if not limits:
        return Checkup.unknown(name, "the project tells of no limit on TPUs")
    if any(limit is None or limit > 0 for limit in limits):
        return Checkup.well(name, "there is some for TPUs: `jobman quota` shows where")
    told = "the project may have no TPU anywhere"
    return Checkup.broken(name, told, f"ask for quota: {_page(project)}")


def _page(project: str) -> str:
    return f"https://console.cloud.google.com/iam-admin/quotas?project={project}"


def judge_hosts(allowances: Iterable[Allowance], project: str) -> Iterator[Checkup]:
    """Say what hosts take of a region besides chips, and is used up.

    Args:
        allowances: on such things.
        project: whose.
    """
    for each in allowances:
        if each.is_reached:
            told = f"all {each.limit} {each.what} of {each.place} are in use"
            yield Checkup.doubt("quota", told, f"give some back, or ask for more: {_page(project)}")


@attrs.frozen
class Place:
    """What a job file asks for in one zone."""

    zone: str
    accelerator: str
    runtime: str


def judge_place(place: Place, *, zone: bool, accelerator: bool, runtime: bool) -> Checkup:
    """Say whether a zone has what a job file asks for.

    Args:
        place: what it asks for.
        zone: there is such a zone.
        accelerator: it has that type.
        runtime: it has that version.
    """
    name = place.zone
    if not zone:
        remedy = "correct tpu.zone: `gcloud compute tpus locations list` has all"
        return Checkup.broken(name, f"there is no zone {place.zone} with TPUs", remedy)
    if not accelerator:
        listed = f"gcloud compute tpus accelerator-types list --zone {place.zone}"
        told = f"it has no {place.accelerator}"
        return Checkup.broken(name, told, f"correct tpu.accelerator or the zone: `{listed}`")
    if not runtime:
        listed = f"gcloud compute tpus versions list --zone {place.zone}"
        told = f"it has no runtime {place.runtime!r}"
        return Checkup.broken(name, told, f"correct tpu.version: `{listed}`")
    return Checkup.well(name, f"it has {place.accelerator} and {place.runtime}")
