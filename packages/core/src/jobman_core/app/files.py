"""What a facade tells of the files that people write."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobman_core.app.opening import Opening

# Start-up is paid by everybody: what only some commands need is imported when they run.
if TYPE_CHECKING:
    from jobman_core.models.key import Key
    from jobman_core.models.sample import Sample
    from jobman_core.models.v3 import TakenOver


class FilesPart(Opening):
    """What job files, tasks files and settings may say, and files to begin with."""

    def schema(self, file: str) -> Mapping[str, Any]:
        """Give the JSON Schema (2020-12) of a kind of file, with the installed plugins' keys.

        Args:
            file: ``job``, ``tasks`` or ``settings``.

        Raises:
            InvalidInputError: there is no such kind.
        """
        from jobman_core.config.schema import schema_of

        return schema_of(file, self._surroundings())

    def keys(self, file: str) -> "Sequence[Key]":
        """List all keys of a kind of file, each before those below it.

        Args:
            file: ``job``, ``tasks`` or ``settings``.

        Raises:
            InvalidInputError: there is no such kind.
        """
        from jobman_core.config.keys import keys_of
        from jobman_core.config.schema import schema_of

        return tuple(keys_of(schema_of(file, self._surroundings())))

    async def init(self, folder: Path, sample: "Sample", *, force: bool = False) -> Sequence[Path]:
        """Write a commented job file, and a tasks file if it is to take tasks from a queue.

        Args:
            folder: where they go; it is made.
            sample: what they say.
            force: what is there already is overwritten.

        Raises:
            InvalidInputError: one of them is there already, or what they would say has faults.
        """
        from jobman_core.sample import write

        around = self._surroundings()
        return await asyncio.to_thread(write, sample, folder, around, force=force)

    async def import_v3(self, folder: Path, *, dry_run: bool = False) -> "TakenOver":
        """Take over jobs, queues and logs of Jobman v3; what is here already stays as it is.

        Args:
            folder: v3's checkout, or its ``jobs`` folder; the home itself is fine.
            dry_run: only say what would be done.

        Raises:
            NotFoundError: there is no such folder.
        """
        from jobman_core.v3.take import plan_of, take_over

        if not dry_run:
            return await take_over(folder, await self._ready(make=True))
        # A folder of v3's own state looks like that of a home, and is none yet.
        hub = await self._if_there() if self._home.database.exists() else None
        return await plan_of(folder, self._surroundings(), hub, self.user)
