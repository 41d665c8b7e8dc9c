"""Where what is left of a list of names can be cut in two, so that both parts are listed at once.

Cloud Storage lists the names of a bucket in the order of their bytes in UTF-8, which is the order
of Python's strings, and takes the first and the last as ``startOffset`` and ``endOffset``. How many
names lie between two others nobody says; that the next pages are as dense as the last one is a good
guess, which costs one empty answer where it is wrong. Pure.
"""

from bisect import bisect_left
from typing import Final

#: A cut is made so many pages ahead.
PAGES: Final = 8
#: Characters before the first one in which a page's names differ that a cut may change as well.
_CARRY: Final = 4
#: Characters that a cut is made of from there on.
_DIGITS: Final = 12


def ahead(first: str, last: str, end: str | None, alphabet: str) -> str | None:
    """Give a text that comes some pages after a page of names; None: there is none before the end.

    Args:
        first: the first name of the page.
        last: the last one.
        end: what comes after all names that are listed; None: there is nothing.
        alphabet: the characters that names are made of, in their order, each once.
    """
    base = len(alphabet) + 1
    same = max(_shared(first, last) - _CARRY, 0)
    begin, stop = (_number(name[same:], alphabet, base) for name in (first, last))
    cut = stop + PAGES * (stop - begin)
    if not stop < cut < base**_DIGITS:
        return None
    text = last[:same] + _text(cut, alphabet, base)
    return text if text > last and (end is None or text < end) else None


def _shared(first: str, last: str) -> int:
    """Count the characters that both begin with."""
    pairs = enumerate(zip(first, last, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(first), len(last)))


def _number(text: str, alphabet: str, base: int) -> int:
    """Read the beginning of a text as a number: 0 stands for its end, 1 for the first character."""
    number = 0
    for at in range(_DIGITS):
        digit = bisect_left(alphabet, text[at]) + 1 if at < len(text) else 0
        number = number * base + digit
    return number


def _text(number: int, alphabet: str, base: int) -> str:
    """Write a number as a text; nothing comes after what stands for its end."""
    digits = [number // base**at % base for at in reversed(range(_DIGITS))]
    end = digits.index(0) if 0 in digits else _DIGITS
    return "".join(alphabet[digit - 1] for digit in digits[:end])
