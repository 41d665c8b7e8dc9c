"""The app as Slack is told of it: what it may do and why, for ``manifest`` and ``check`` alike."""

from collections.abc import Mapping
from typing import Final

#: What the bot may do in Slack, each with what it is for.
SCOPES: Final[Mapping[str, str]] = {
    "channels:history": "finds what it posted before it was killed, so that nothing comes twice",
    "channels:read": "checks the channels of bot.yaml",
    "chat:write": "posts and answers",
    "commands": "hears /jobman",
    "files:write": "shares logs and charts",
    "groups:history": "finds what it posted before in private channels",
    "groups:read": "checks the private channels of bot.yaml",
    "im:history": "finds what it posted before in direct messages",
    "im:write": "tells the owner of a job in a direct message",
    "users:read": "checks the people of bot.yaml",
}

_MANIFEST: Final = """\
# A Slack app for jobman: paste this on https://api.slack.com/apps, Create New App, From a manifest.
display_information:
  name: jobman
  description: See and steer experiments on TPU slices
  background_color: "#1f3a5f"
features:
  app_home:
    home_tab_enabled: false
    messages_tab_enabled: true
    messages_tab_read_only_enabled: false
  bot_user:
    display_name: jobman
    always_online: true
  slash_commands:
    - command: /jobman
      description: See and steer experiments
      usage_hint: "help | list | show ID | logs ID"
      should_escape: false
oauth_config:
  scopes:
    bot:
{scopes}
settings:
  interactivity:
    is_enabled: true
  org_deploy_enabled: false
  socket_mode_enabled: true
  token_rotation_enabled: false
"""


def manifest() -> str:
    """Give the app's manifest, as YAML."""
    width = max(map(len, SCOPES))
    scopes = (f"      - {scope.ljust(width)}  # {why}" for scope, why in SCOPES.items())
    return _MANIFEST.format(scopes="\n".join(scopes))
