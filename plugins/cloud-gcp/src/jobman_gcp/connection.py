"""The account and the client, found and made when they are first needed."""

import asyncio

from jobman_core.errors import PermanentCloudError
from jobman_gcp.account import Account, named_project
from jobman_gcp.client import Client


class Connection:
    """What asks the API, for as long as a process works with this cloud."""

    def __init__(self, project: str | None) -> None:
        """Connect to nothing yet.

        Args:
            project: of the settings; None: the account's.
        """
        self._named = project
        self._who: Account | None = None
        self._client: tuple[asyncio.AbstractEventLoop, Client] | None = None

    async def account(self) -> Account:
        """Give who asks.

        Raises:
            PermanentCloudError: there are no credentials.
        """
        if self._who is None:
            self._who = await Account.find()
        return self._who

    async def project(self) -> str:
        """Give the project that pays where a job names none.

        Raises:
            PermanentCloudError: there is none, or no credentials.
        """
        project = self._named or named_project() or (await self.account()).project
        if not project:
            raise PermanentCloudError(
                "no project of Google Cloud is named: write `project:` into jobman.yaml or into "
                "the job's tpu section, or run `gcloud config set project PROJECT`"
            )
        return project

    async def client(self) -> Client:
        """Give the client of the running loop: a channel serves one loop only.

        Raises:
            PermanentCloudError: there are no credentials.
        """
        account, loop = await self.account(), asyncio.get_running_loop()
        if self._client is None:
            # It takes seconds, in which other jobs of this process have work to do.
            await asyncio.to_thread(Client.load)
        if self._client is None or self._client[0] is not loop:
            self._client = (loop, Client(account.channel()))
        return self._client[1]

    async def aclose(self) -> None:
        """Hang up."""
        if self._client is not None:
            (loop, client), self._client = self._client, None
            if loop is asyncio.get_running_loop():
                await client.aclose()
