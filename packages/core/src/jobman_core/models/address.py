"""Addresses of repositories, as they may be shown."""

import re
from typing import Final
from urllib.parse import unquote, urlsplit

#: Whatever stands before an ``@`` in an address.
_LOGIN: Final = re.compile(r"(?<=://)[^\s/@]+(?:@[^\s/@]+)*(?=@)")
#: Shorter passwords than this would garble the message when they are looked for in it.
_SHORTEST_SECRET: Final = 4


def mask(text: str, url: str) -> str:
    """Take the passwords out of a text: those of any address in it, and this one's anywhere."""
    text = _LOGIN.sub(_masked_login, text)
    for secret in _secrets(url):
        text = text.replace(secret, "***")
    return text


def _masked_login(login: re.Match[str]) -> str:
    # The name before a host in `ssh://git@…` is none.
    before = login.string[: login.start()]
    return login[0] if before.endswith("ssh://") and ":" not in login[0] else "***"


def _secrets(url: str) -> list[str]:
    """Give what is secret in an address, as written and decoded, the longest first."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return []
    name, _, password = parts.netloc.rpartition("@")[0].partition(":")
    found = {password, unquote(password)}
    if parts.scheme in {"http", "https"} and not password:
        # A token may stand alone in place of the name.
        found = {name, unquote(name)}
    return sorted((s for s in found if len(s) >= _SHORTEST_SECRET), key=len, reverse=True)
