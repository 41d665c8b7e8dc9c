"""What is told where Slack, or a button, does nothing."""

from collections.abc import Mapping
from typing import Final, Self

import aiohttp
from slack_sdk.errors import SlackApiError

from jobman_core.errors import JobmanError

_TOO_MANY: Final = 429
_THEIRS: Final = 500
#: Slack's word for calls that come too fast.
RATE_LIMITED: Final = "ratelimited"
#: Seconds: what stands between may say anything, and nobody is silent for years for that.
_LONGEST_AFTER: Final = 3600.0

_NO_CONNECTION: Final = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)

#: Answers that pass.
_PASSING: Final = frozenset(
    ("ratelimited", "internal_error", "fatal_error", "service_unavailable", "request_timeout")
)
#: Answers about the token, whatever it is used for.
NO_TOKEN: Final = frozenset(
    (
        "invalid_auth",
        "not_authed",
        "account_inactive",
        "token_revoked",
        "token_expired",
        "not_allowed_token_type",
        "org_login_required",
    )
)
#: Answers about one channel or person, which say nothing of the others.
NO_PLACE: Final = frozenset(
    (
        "channel_not_found",
        "not_in_channel",
        "is_archived",
        "user_not_found",
        "users_not_found",
        "user_disabled",
        "user_not_visible",
        "cannot_dm_bot",
        "messages_tab_disabled",
        "restricted_action",
    )
)
#: Answers about what a message says.
NO_MESSAGE: Final = frozenset(
    (
        "invalid_blocks",
        "invalid_blocks_format",
        "msg_too_long",
        "msg_blocks_too_long",
        "no_text",
        "invalid_metadata_format",
        "metadata_too_large",
    )
)
#: Answers about a message that is there no more, or may not be changed any more.
NO_CHANGE: Final = frozenset(("message_not_found", "cant_update_message", "edit_window_closed"))
#: What to do about answers that do not pass, in the words of who runs the bot.
REMEDIES: Final[Mapping[str, str]] = {
    "invalid_auth": "SLACK_BOT_TOKEN is wrong: copy the Bot User OAuth Token again from "
    "OAuth & Permissions",
    "not_authed": "the token is missing: set it",
    "account_inactive": "the app was removed from the workspace: install it again",
    "token_revoked": "the token was revoked: install the app again, and copy the new token",
    "token_expired": "the token has expired: install the app again, and copy the new token",
    "not_allowed_token_type": "this is another kind of token: SLACK_BOT_TOKEN begins with xoxb-, "
    "SLACK_APP_TOKEN with xapp-",
    "link_disabled": "Socket Mode is off: switch it on in the app's settings",
    "missing_scope": "the app may not do that: update it with `jobman-slackbot manifest`, and "
    "install it again",
    "channel_not_found": "check the channel's id, and invite the bot to it: /invite @jobman",
    "not_in_channel": "invite the bot to the channel: /invite @jobman",
    "is_archived": "the channel is archived: name another in bot.yaml",
    "user_not_found": "check the person's id in bot.yaml",
    "user_disabled": "the account is deactivated: take the person out of bot.yaml",
    "cannot_dm_bot": "the id is a bot's: take it out of bot.yaml",
}
#: The one call that is made with the token of the app.
CONNECT: Final = "apps.connections.open"
_OF_THE_APP: Final = (
    "SLACK_APP_TOKEN is wrong: copy the App-Level Token with the scope connections:write again "
    "from Basic Information"
)


class SlackError(JobmanError):
    """Slack did not do, or may not have done, what it was asked for."""

    def __init__(
        self,
        method: str,
        code: str,
        *,
        lasting: bool = False,
        unsure: bool = False,
        after: float = 0.0,
    ) -> None:
        """Keep what is known.

        Args:
            method: of Slack's Web API.
            code: Slack's word for it, else what went wrong on the way.
            lasting: to ask for the same again cannot help.
            unsure: it may have been done: only the answer is missing.
            after: seconds that Slack wants to be left alone.
        """
        if lasting:
            done, remedy = "refused", REMEDIES.get(code, "see `jobman-slackbot check`")
            if method == CONNECT and code in ("invalid_auth", "missing_scope"):
                remedy = _OF_THE_APP
        else:
            done = "did not do"
            remedy = "it is tried again; see https://status.slack.com if it lasts"
        super().__init__(f"Slack {done} {method}: {code}: {remedy}")
        self.code = code
        self.lasting = lasting
        self.unsure = unsure
        self.after = after

    @classmethod
    def of(cls, method: str, error: Exception) -> Self:
        """Say what an error of the SDK, or of the way to Slack, means."""
        if not isinstance(error, SlackApiError):
            # Where there was no connection nothing was asked; later, only the answer is missing.
            unasked = isinstance(error, _NO_CONNECTION)
            said = " ".join(str(error).split()) or "no answer in time"
            return cls(method, f"no answer ({said})", unsure=not unasked)
        answer = error.response
        # Where no JSON came, the SDK gives the answer of its HTTP client instead of its own.
        status: int = getattr(answer, "status_code", 0) or getattr(answer, "status", 0)
        data = getattr(answer, "data", None)
        code: str | None = data.get("error") if isinstance(data, dict) else None
        if status == _TOO_MANY or code == RATE_LIMITED:
            said = answer.headers.get("Retry-After", "")
            after = min(float(said), _LONGEST_AFTER) if said.isdecimal() else 1.0
            return cls(method, RATE_LIMITED, after=after)
        if status >= _THEIRS or code is None or code in _PASSING:
            return cls(method, code or f"HTTP {status}", unsure=True)
        return cls(method, code, lasting=True)


class OldButtonError(JobmanError):
    """A button of an older bot, or one that nobody made."""

    def __init__(self) -> None:
        super().__init__("this button means nothing now: write the command again")
