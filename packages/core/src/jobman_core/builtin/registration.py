"""The built-ins' own hooks."""

from collections.abc import Sequence

from jobman_core import hookimpl
from jobman_core.builtin.local import LocalCloud
from jobman_core.builtin.problems import problems
from jobman_core.builtin.process_session import ProcessSession
from jobman_core.builtin.shared_session import SharedSession
from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.interfaces.cloud import Cloud
from jobman_core.interfaces.problem import HostProblem
from jobman_core.interfaces.session import Session
from jobman_core.interfaces.store import Store


@hookimpl
def jobman_clouds() -> Sequence[type[Cloud]]:
    """Bring this machine, as a cloud."""
    return [LocalCloud]


@hookimpl
def jobman_sessions() -> Sequence[type[Session]]:
    """Bring plain processes, as sessions: one for each job, or one for many."""
    return [ProcessSession, SharedSession]


@hookimpl
def jobman_stores() -> Sequence[type[Store]]:
    """Bring SQLite."""
    return [SqliteStore]


@hookimpl
def jobman_problems() -> Sequence[HostProblem]:
    """Bring what goes wrong on any machine."""
    return problems()
