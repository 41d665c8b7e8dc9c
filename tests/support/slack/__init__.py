"""A Slack on this machine: what an app calls and is sent, and what people would see of it."""

from tests.support.slack.server import LoopbackSlack
from tests.support.slack.trouble import Trouble
from tests.support.slack.world import Channel, Message, Person

__all__ = ["Channel", "LoopbackSlack", "Message", "Person", "Trouble"]
