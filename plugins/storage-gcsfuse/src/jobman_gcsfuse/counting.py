"""Counts the objects of a bucket: parts of its names are listed at once, and none is kept.

One part is listed page by page. While fewer are listed than may be, the part whose page has come is
cut in two, some pages ahead: so that one folder with a million objects is listed as fast as a
thousand folders are.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import attrs

from jobman_core.models.storage import Amount, ObjectState
from jobman_core.process import in_daemon
from jobman_gcsfuse.keys import ahead

if TYPE_CHECKING:
    from google.cloud.storage import Client

#: Parts that are listed at once; Google's client keeps ten connections.
AT_ONCE: Final = 8
#: Folders that are told apart.
MOST_FOLDERS: Final = 10_000
#: Seconds to connect, and for a page.
_CALL: Final = (5.0, 30.0)
#: Seconds for which a page is asked for again.
_PATIENCE: Final = 60.0
#: All that is needed of an object.
_FIELDS: Final = "items(name,size,storageClass,timeDeleted,softDeleteTime),nextPageToken"

#: Folder, class and state.
_Kind = tuple[str | None, str, ObjectState]
#: Gives the pages of objects from a name to another one, each as the API has it.
_Open = Callable[[str, str | None], Iterator[Sequence[dict[str, str]]]]


@attrs.define
class _Part:
    """A range of names that is listed."""

    pages: Iterator[Sequence[dict[str, str]]]
    #: The first name that is not part of it any more; None: there is no end.
    end: str | None


@attrs.frozen
class _Page:
    """What one page of a listing came to."""

    objects: Counter[_Kind]
    bytes: Counter[_Kind]
    #: The first and the last name; empty: there is none.
    first: str
    last: str
    #: That its names are made of.
    characters: frozenset[str]
    #: Nothing of the part comes after it.
    over: bool


@attrs.define
class Count:
    """What was counted of one bucket so far."""

    #: Called after every page.
    told: Callable[[], None]
    done: bool = False
    #: What broke it off.
    error: Exception | None = None
    _objects: Counter[_Kind] = attrs.field(factory=Counter, init=False)
    _bytes: Counter[_Kind] = attrs.field(factory=Counter, init=False)
    _folders: set[str] = attrs.field(factory=set, init=False)
    _alphabet: str = attrs.field(default="", init=False)
    _tasks: set[asyncio.Task[None]] = attrs.field(factory=set, init=False)

    def amounts(self) -> Sequence[Amount]:
        """Give what was counted, by folder, class and state."""
        return [Amount(*kind, self._objects[kind], self._bytes[kind]) for kind in self._objects]

    async def run(self, client: "Client", bucket: str, *, deleted: bool) -> None:
        """Count all objects, older versions too; what breaks it off is kept in :attr:`error`.

        Args:
            client: of Cloud Storage.
            bucket: its name.
            deleted: count those as well that were deleted and are kept for a while.
        """
        for soft in (False, True) if deleted else (False,):
            opened = partial(_pages, client, bucket, soft)
            self._list(opened, "", None)
            try:
                while self._tasks:
                    over, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
                    self._tasks -= over
                    for task in over:
                        task.result()
            finally:
                for task in self._tasks:
                    task.cancel()
                await asyncio.gather(*self._tasks, return_exceptions=True)
        self.done = self.error is None

    def _list(self, opened: _Open, start: str, end: str | None) -> None:
        """Begin to list a part beside the others."""
        part = _Part(opened(start, end), end)
        self._tasks.add(asyncio.create_task(self._walk(opened, part)))

    async def _walk(self, opened: _Open, part: _Part) -> None:
        while self.error is None:
            try:
                page = await in_daemon(partial(_read, part.pages, part.end))
            except Exception as error:  # noqa: BLE001 - Google's libraries raise whatever they meet
                self._break_off(error)
                return
            self._add(page)
            if page.over:
                return
            if page.last and len(self._tasks) < AT_ONCE:
                self._share(opened, part, page)

    def _share(self, opened: _Open, part: _Part, page: _Page) -> None:
        """Let what comes some pages later be listed beside a part."""
        cut = ahead(page.first, page.last, part.end, self._alphabet)
        if cut is not None:
            self._list(opened, cut, part.end)
            part.end = cut

    def _break_off(self, error: Exception) -> None:
        """End all parts; what went wrong first is what people are told."""
        if self.error is None:
            self.error = error

    def _add(self, page: _Page) -> None:
        for kind, count in page.objects.items():
            folder, storage_class, state = kind
            if folder is not None and folder not in self._folders:
                if len(self._folders) < MOST_FOLDERS:
                    self._folders.add(folder)
                else:
                    folder = None
            known = (folder, storage_class, state)
            self._objects[known] += count
            self._bytes[known] += page.bytes[kind]
        if not page.characters.issubset(self._alphabet):
            self._alphabet = "".join(sorted(page.characters.union(self._alphabet)))
        self.told()


def _pages(
    client: "Client", bucket: str, soft: bool, start: str, end: str | None
) -> Iterator[Sequence[dict[str, str]]]:
    from google.cloud.storage.retry import DEFAULT_RETRY

    listing = client.list_blobs(
        bucket,
        start_offset=start or None,
        end_offset=end,
        versions=None if soft else True,
        soft_deleted=soft or None,
        fields=_FIELDS,
        timeout=_CALL,
        retry=DEFAULT_RETRY.with_timeout(_PATIENCE),
    )
    for page in listing.pages:
        # A million objects are read faster as they come.
        yield page.raw_page.get("items", ())


def _read(pages: Iterator[Sequence[dict[str, str]]], end: str | None) -> _Page:
    """Read the next page of a part, up to its end."""
    items = next(pages, None)
    objects: Counter[_Kind] = Counter()
    sizes: Counter[_Kind] = Counter()
    found = [item for item in items or () if end is None or item["name"] < end]
    for item in found:
        folder, slash, _ = item["name"].partition("/")
        kind = (folder + slash if slash else "", item.get("storageClass", ""), _state(item))
        objects[kind] += 1
        sizes[kind] += int(item.get("size", 0))
    # A page that is cut is the last one; an empty one says nothing of those to come.
    over = items is None or len(found) < len(items)
    characters = frozenset[str]().union(*(item["name"] for item in found))
    first, last = (found[0]["name"], found[-1]["name"]) if found else ("", "")
    return _Page(objects, sizes, first, last, characters, over)


def _state(item: dict[str, str]) -> ObjectState:
    if "softDeleteTime" in item:
        return ObjectState.SOFT_DELETED
    return ObjectState.NONCURRENT if "timeDeleted" in item else ObjectState.LIVE
