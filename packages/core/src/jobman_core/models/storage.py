"""What buckets hold."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum

import attrs


class ObjectState(StrEnum):
    """What objects of a bucket are; all of them are paid for."""

    LIVE = "live"
    #: Older versions, of a bucket that keeps them.
    NONCURRENT = "noncurrent"
    #: Deleted, and kept for some days in case that was a mistake.
    SOFT_DELETED = "soft-deleted"
    #: Parts of uploads that have not been finished.
    UPLOAD = "upload"


@attrs.frozen
class Amount:
    """Objects that are alike, and what they come to."""

    #: The top-level folder that they are in; empty: in none; None: nobody asked.
    folder: str | None
    #: As the storage calls it, like ``STANDARD``.
    storage_class: str
    state: ObjectState = ObjectState.LIVE
    objects: int = 0
    bytes: int = 0


@attrs.frozen
class BucketSize:
    """One bucket, and what it held when it was looked at."""

    #: The storage backend that was asked.
    storage: str
    #: Empty where it is not one bucket that something is wrong with.
    bucket: str
    #: Where it lies, as the storage says it; empty: it does not.
    location: str = ""
    #: No two of one folder, class and state.
    amounts: Sequence[Amount] = ()
    #: When it was so; None: nothing is known of it.
    as_of: datetime | None = None
    #: Every object was counted, and each folder for itself.
    exact: bool = False
    #: Of one that is counted: there is more than was seen so far.
    partial: bool = False
    #: Why nothing, or not all, is known of it; empty: all is.
    trouble: str = ""

    def total(self, state: ObjectState = ObjectState.LIVE) -> Amount:
        """Give what all objects of a state come to."""
        return total(self.amounts, state)

    def folders(self) -> Mapping[str, Sequence[Amount]]:
        """Give the amounts of each folder, the largest first; those in none are under ``''``."""
        found: dict[str, list[Amount]] = {}
        for amount in self.amounts:
            if amount.folder is not None:
                found.setdefault(amount.folder, []).append(amount)
        sizes = {folder: sum(each.bytes for each in found[folder]) for folder in found}
        return {folder: found[folder] for folder in sorted(found, key=lambda f: (-sizes[f], f))}


#: Hears of a bucket again and again while its objects are counted.
Tell = Callable[[BucketSize], None]


def total(amounts: Iterable[Amount], state: ObjectState = ObjectState.LIVE) -> Amount:
    """Add up the objects of one state."""
    found = [each for each in amounts if each.state is state]
    objects, size = sum(each.objects for each in found), sum(each.bytes for each in found)
    return Amount(None, "", state, objects, size)
