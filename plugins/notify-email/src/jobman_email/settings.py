"""The section ``notifiers.email`` of ``jobman.yaml``."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal

import attrs

from jobman_email.addresses import is_plain, read_address

#: The usual port of each kind of security.
_PORTS: Final = {"starttls": 587, "tls": 465, "none": 25}
_HIGHEST_PORT: Final = 65535
_Validator = Callable[[Any, "attrs.Attribute[Any]", Any], None]


def _texts(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(values)


def _must(test: Callable[[Any], bool], told: str) -> _Validator:
    """Refuse a value that is written and fails a test."""

    def check(_: object, field: "attrs.Attribute[Any]", value: object) -> None:
        if value and not test(value):
            msg = f"{field.name}: {told}"
            raise ValueError(msg)

    return check


def _with_name(_: object, field: "attrs.Attribute[Any]", value: str) -> None:
    """Refuse what is no address, with or without a name before it."""
    if not value:
        return
    try:
        read_address(value)
    except ValueError as error:
        msg = f"{field.name}: {error}"
        raise ValueError(msg) from error


@attrs.frozen
class EmailSettings:
    """By which server mail is sent, from whom and to whom."""

    #: The mail server.
    host: str = ""
    #: By default 587 for ``starttls``, 465 for ``tls``, 25 for ``none``.
    port: int | None = attrs.field(
        default=None,
        validator=_must(lambda port: 0 < port <= _HIGHEST_PORT, "a port is 1 to 65535"),
    )
    #: ``starttls``, ``tls`` from the first byte on, or ``none``: no secret goes over that.
    security: Literal["starttls", "tls", "none"] = "starttls"
    #: Certificates (PEM) of an authority that this machine does not know.
    ca_file: str = ""
    #: Who logs in; empty: nobody does.
    user: str = ""
    #: Holds the password, for its owner alone; empty: the environment does.
    password_file: str = ""
    #: Who writes: ``jobman@lab.example``, or ``jobman <jobman@lab.example>``.
    sender: str = attrs.field(default="", validator=_with_name)
    #: Who reads what is for the channel.
    to: tuple[str, ...] = attrs.field(
        default=(),
        converter=_texts,
        validator=_must(
            lambda all_: all(map(is_plain, all_)), "plain addresses, like [ada@lab.example]"
        ),
    )
    #: The address of each jobman user, for what is for the owner.
    people: Mapping[str, str] = attrs.field(
        factory=dict,
        validator=_must(
            lambda people: all(map(is_plain, people.values())),
            "plain addresses by user, like {ada: ada@lab.example}",
        ),
    )
    #: Of users who are not among those: ``ada`` is written to as ``ada@`` this.
    domain: str = attrs.field(
        default="",
        validator=_must(lambda domain: is_plain(f"ada@{domain}"), "a plain domain: lab.example"),
    )

    @property
    def server_port(self) -> int:
        """The port that is meant."""
        return _PORTS[self.security] if self.port is None else self.port
