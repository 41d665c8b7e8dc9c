"""Mail addresses: what is one. Nothing else gets into a header or an envelope."""

import re
from email.headerregistry import Address
from typing import Final

#: What RFC 5322 calls a dot-atom: no quotes, no spaces, no line ends.
_ATOM: Final = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL: Final = r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?"
_PLAIN: Final = re.compile(rf"{_ATOM}(\.{_ATOM})*@{_LABEL}(\.{_LABEL})*")
#: The longest that a mail server has to take (RFC 5321).
_LONGEST: Final = 254


def is_plain(text: str) -> bool:
    """Tell whether a text is an address and nothing but that: ``ada@lab.example``."""
    return len(text) <= _LONGEST and _PLAIN.fullmatch(text) is not None


def read_address(text: str) -> Address:
    """Read an address with or without a name: ``jobman <jobman@lab.example>``.

    Raises:
        ValueError: it is none; the message says what one looks like.
    """
    name, bracket, plain = text.rpartition("<")
    plain = plain.removesuffix(">") if bracket else plain
    if not is_plain(plain) or not name.isprintable():
        msg = f"{text!r} is no mail address: write one like ada@lab.example"
        raise ValueError(msg)
    return Address(display_name=name.strip(' "'), addr_spec=plain)
