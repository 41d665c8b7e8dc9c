"""What ``doctor`` says of mail: whether the server lets us in, and whether anybody gets any."""

import pytest
from tests.plugins.email.conftest import NotifierOf
from tests.plugins.email.mail import MailServer

from jobman_core.errors import InvalidInputError, JobmanError
from jobman_core.interfaces.backend import Scope
from jobman_core.models.checkup import Health


async def test_a_server_that_lets_us_in_is_well_and_gets_no_mail(
    notifier: NotifierOf, server: MailServer
) -> None:
    (found,) = await notifier(server).checkups(Scope())
    assert (found.health, str(server.port) in found.text) == (Health.WELL, True)
    assert server.inbox.letters == []


async def test_a_server_that_is_away_and_settings_that_lack_something_are_errors(
    notifier: NotifierOf,
) -> None:
    with pytest.raises(JobmanError, match="gives no answer"):
        await notifier(port=1).checkups(Scope())
    for offline in (False, True):
        with pytest.raises(InvalidInputError, match=r"notifiers\.email\.sender"):
            await notifier(sender="").checkups(Scope(offline=offline))


async def test_offline_no_connection_is_tried(notifier: NotifierOf) -> None:
    (found,) = await notifier(port=1).checkups(Scope(offline=True))
    assert found.health is Health.UNKNOWN


async def test_where_nobody_is_written_to_that_is_told(notifier: NotifierOf) -> None:
    (found,) = await notifier(to=[]).checkups(Scope())
    assert (found.health, "notifiers.email.to" in found.remedy) == (Health.BROKEN, True)
