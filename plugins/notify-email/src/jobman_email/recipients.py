"""Who is written to of what."""

from collections.abc import Iterable, Mapping, Sequence

from jobman_core.models.notice import Audience, Notice
from jobman_email.addresses import is_plain
from jobman_email.settings import EmailSettings


def sorted_out(
    notices: Iterable[Notice], settings: EmailSettings
) -> Mapping[str, Sequence[Notice]]:
    """Give the notices of each recipient, in their order."""
    found: dict[str, list[Notice]] = {}
    for notice in notices:
        for address in recipients_of(notice, settings):
            found.setdefault(address, []).append(notice)
    return found


def recipients_of(notice: Notice, settings: EmailSettings) -> Sequence[str]:
    """Say who is written to of a notice.

    An owner without an address is no reason to tell nobody: the lab's own recipients hear of it.
    """
    if notice.to is Audience.NOBODY:
        return ()
    owner = _address_of(notice.user, settings) if notice.to is Audience.OWNER else None
    return (owner,) if owner else tuple(dict.fromkeys(settings.to))


def _address_of(user: str | None, settings: EmailSettings) -> str | None:
    """Give a user's address; None: nobody wrote one down, and none can be made."""
    if user is None or user in settings.people:
        return settings.people.get(user or "")
    made = f"{user}@{settings.domain}"
    return made if settings.domain and is_plain(made) else None
