"""A home, and how it is opened by what first needs it."""

import asyncio
import errno
import getpass
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

import attrs

from jobman_core.builtin import builtins
from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.clock import Clock, SystemClock
from jobman_core.config.settings import load_settings
from jobman_core.errors import NotFoundError, NotYoursError
from jobman_core.files import make_folder
from jobman_core.group import account, group_of, owner_of
from jobman_core.home import Home, find_home
from jobman_core.hub import Hub
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import JobRecord, Store
from jobman_core.models.listing import JobView
from jobman_core.models.settings import Settings
from jobman_core.models.task import QueueDefinition
from jobman_core.views import job_view

# Start-up is paid by everybody: what only some commands need is imported when they run.
if TYPE_CHECKING:
    from jobman_core.config.surroundings import Surroundings
    from jobman_core.jobs import Jobs
    from jobman_core.plugins import PluginRow, Plugins
    from jobman_core.queues import Queues


class Opening:
    """What the facade stands on: who acts, in which home, with what."""

    def __init__(
        self,
        home: Home,
        *,
        make: bool = False,
        user: str | None = None,
        clock: Clock | None = None,
        plugins: "Plugins | None" = None,
        store: Callable[[Context], Store] = SqliteStore,
        echo: Callable[[str], None] | None = None,
    ) -> None:
        """Name a home; nothing is touched before the block is entered.

        Args:
            home: where everything lies.
            make: create the home if there is none; :attr:`made` then says so.
            user: who acts; by default ``$USER``, else the process's user. In a home that a group
                shares it is the process's user, whatever ``$USER`` says.
            clock: the machine's, unless a test has its own.
            plugins: those installed, unless a test has its own.
            store: makes the store of the home.
            echo: gets what controllers in this process say, a line each.
        """
        self._home = home
        self._make = make
        self.user = user or _user_of(home)
        self._clock = clock or SystemClock()
        self._plugins = plugins
        self._make_store = store
        self._echo = echo
        self._opened: Hub | None = None
        #: Two that need the home at the same time open it once.
        self._opening = asyncio.Lock()
        #: What is wrong with the tasks files of the jobs that were looked at.
        self._problems: list[str] = []
        #: The home did not exist before.
        self.made = False

    @classmethod
    def at(
        cls,
        home: Path | None,
        *,
        make: bool = False,
        echo: Callable[[str], None] | None = None,
    ) -> Self:
        """Name the home that a command means: the one given, else JOBMAN_HOME, else upward."""
        root = find_home(home, os.environ.get("JOBMAN_HOME"), Path.cwd())
        return cls(Home(root), make=make, echo=echo)

    @property
    def home(self) -> Path:
        """The home folder."""
        return self._home.root

    @property
    def group(self) -> str:
        """The Unix group that shares the home; empty: it is one account's own."""
        return group_of(self._home.state) if self._home.shared else ""

    @property
    def found(self) -> bool:
        """Whether there is a home there; known once something was asked of it."""
        return self._opened is not None

    @property
    def warnings(self) -> Sequence[str]:
        """What people should know beside what they asked for, as the last look found it."""
        hindrance = self._opened.hindrance if self._opened else ""
        if not hindrance:
            return self._problems
        paused = "workers pause, and go on by themselves once the home can be written"
        return [f"{paused}; programs run on: {hindrance}", *self._problems]

    @property
    def time_zone(self) -> str | None:
        """The zone that times are shown in, like ``Europe/Paris``; None: the machine's."""
        return self._settings().time_zone

    async def __aenter__(self) -> Self:
        """Begin; the home is opened by what first needs it."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self._close()

    async def _close(self) -> None:
        if self._opened is not None:
            await self._opened.aclose()

    def plugins(self) -> "Sequence[PluginRow]":
        """List every plugin, also those that failed to load."""
        return self.plugins_loaded.rows()

    # -- wiring ----------------------------------------------------------------------------

    @property
    def plugins_loaded(self) -> "Plugins":
        """The plugins, loaded when they are first asked for."""
        if self._plugins is None:
            from jobman_core.plugins import Plugins

            self._plugins = Plugins.from_environment(builtins)
        return self._plugins

    def _settings(self) -> Settings:
        if self._opened is not None:
            return self._opened.settings
        # Who is not let in is told that, rather than which file of it they cannot read.
        _is_there(self._home)
        return load_settings(self._home, plugins=lambda: self.plugins_loaded)

    def _surroundings(self) -> "Surroundings":
        """Give what files are read against, whether or not there is a home yet."""
        if self._opened is not None:
            return self._opened.surroundings()
        from jobman_core.config.surroundings import Surroundings

        return Surroundings(self._home, self.plugins_loaded, self._settings())

    async def _ready(self, *, make: bool = False) -> Hub:
        """Give the open home.

        Raises:
            NotFoundError: there is none, and none is to be made.
        """
        if await self._if_there() is None:
            if not (make and self._make):
                msg = (
                    f"no jobman home in {self.home}: name another (--home, JOBMAN_HOME), or let "
                    "`jobman create` make one"
                )
                raise NotFoundError(msg)
            shared = self._home.shared
            make_folder(self._home.state.parent, 0o770 if shared else 0o777)
            make_folder(self._home.state, 0o700)
            self.made = True
            await self._if_there()
        assert self._opened is not None  # noqa: S101 - just opened
        return self._opened

    async def _if_there(self) -> Hub | None:
        """Give the home, open; None: there is none."""
        if self._opened is None and _is_there(self._home):
            async with self._opening:
                if self._opened is None:
                    self._opened = await self._open()
        return self._opened

    async def _open(self) -> Hub:
        settings = self._settings()
        if self._home.shared and os.geteuid() == 0:
            # The system lets root do all of it, with jobman or without.
            settings = attrs.evolve(settings, admins=(*settings.admins, account(0)))
        store = self._make_store(Context(self._home.root, "", self._clock))
        await store.open()
        return Hub(
            home=self._home,
            home_id=await store.home_id(),
            user=self.user,
            settings=settings,
            store=store,
            clock=self._clock,
            find_plugins=lambda: self.plugins_loaded,
            read_tasks=self._read_tasks,
            echo=self._echo,
        )

    async def _jobs(self) -> "Jobs":
        from jobman_core.jobs import Jobs

        return Jobs(await self._ready())

    async def _queues(self, path: Path | None) -> "Queues":
        from jobman_core.queues import Queues, tasks_file

        if await self._if_there() is None:
            # No home is made for a file that is missing or has faults.
            self._read_tasks(tasks_file(self._home, path))
        return Queues(await self._ready(make=True), await self._jobs())

    def _read_tasks(self, path: Path) -> QueueDefinition:
        # Only when a tasks file changed: ruamel is too slow to import for every command.
        from jobman_core.config.tasks import read_tasks

        return read_tasks(path, self._home.root)

    async def _note_problems(self, hub: Hub, records: Sequence[JobRecord]) -> None:
        """Note what is wrong with the tasks files of jobs, as their workers saw it last."""
        mentioned = {record.job.queue for record in records if record.job.queue}
        queues = await hub.store.queues() if mentioned else []
        self._problems = [
            f"{queue.problem}: workers go on with its last good version"
            for queue in queues
            if queue.problem and queue.path in mentioned
        ]

    async def _view(self, job: str) -> JobView:
        hub = await self._ready()
        record = await hub.store.record(job)
        return job_view(record, hub.liveness(record))


def _user_of(home: Home) -> str:
    """Say who acts: where accounts share a home nobody is taken for another by what they say."""
    if home.shared:
        return account()
    try:
        return os.environ.get("USER") or getpass.getuser()
    except (KeyError, OSError):
        # Nothing says it, as in a container that runs as a number.
        return account()


def _is_there(home: Home) -> bool:
    """Tell whether there is a home.

    Raises:
        NotYoursError: this account is not let in.
    """
    try:
        return stat.S_ISDIR(home.state.stat().st_mode)
    except PermissionError as error:
        whose = owner_of(home.root) or "somebody else"
        msg = (
            f"the home {home.root} is not open to {account()}: ask {whose} to let you into its "
            "group, then log in anew; or name another with --home or JOBMAN_HOME"
        )
        raise NotYoursError(msg) from error
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise
        return False
