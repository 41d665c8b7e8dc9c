"""Lists in pages: a token names the last entry that was shown, so that changes do no harm."""

import base64
import binascii
from collections.abc import Sequence
from typing import Final, Protocol

from jobman_emulator.errors import invalid

#: Entries of a page where nobody says how many.
_USUAL: Final = 500
_MOST: Final = 1000


class Paged(Protocol):
    """A request for a list."""

    page_size: int
    page_token: str


def page(names: Sequence[str], request: Paged) -> tuple[list[str], str]:
    """Give the names of the page that is asked for, and the token of the next; empty: none.

    Args:
        names: all of them, sorted.
        request: says which page.

    Raises:
        ApiError: the token or the size cannot be.
    """
    if request.page_size < 0:
        raise invalid(f"Invalid page_size {request.page_size}: it must not be negative")
    try:
        after = base64.b64decode(request.page_token, b"-_", validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise invalid(f'Invalid page_token "{request.page_token}"') from error
    left = [name for name in names if name > after]
    size = min(request.page_size or _USUAL, _MOST)
    shown = left[:size]
    more = len(left) > size
    return shown, base64.urlsafe_b64encode(shown[-1].encode()).decode() if more else ""
