"""What is asked of a job's hosts, and what its scripts are told: pure."""

import logging
from collections.abc import Iterable

import attrs

from jobman_core.clock import Clock
from jobman_core.config.identities import home_folder, key_files, section_of
from jobman_core.interfaces.environment import Environment
from jobman_core.interfaces.host import HostFacts
from jobman_core.interfaces.problem import HostProblem
from jobman_core.interfaces.storage import Storage
from jobman_core.models.job import JobSpec
from jobman_core.plugins import Plugins

_log = logging.getLogger(__name__)


def problems_of(
    spec: JobSpec,
    environment: Environment | None,
    storages: Iterable[Storage],
    plugins: Plugins,
) -> tuple[HostProblem, ...]:
    """Give all that can be wrong on a job's hosts, in the order in which it is mended.

    What asks a plugin and fails is logged and left out: it cannot keep jobs from running.
    """
    found = plugins.problems()
    for backend in (*storages, environment):
        if backend is None:
            continue
        try:
            found += backend.problems(spec)
        except Exception:  # noqa: BLE001 - any plugin, any fault
            _log.exception("%s has no checks: it failed to give them", backend.name)
    return tuple(found)


def fitting(
    problems: Iterable[HostProblem], facts: HostFacts, *, cheap: bool = False
) -> tuple[HostProblem, ...]:
    """Give those that make sense on a host; the cheap ones alone where work waits for them."""
    return tuple(
        problem
        for problem in problems
        if (facts.own_machine or not problem.machine) and (problem.cheap or not cheap)
    )


@attrs.frozen
class Around:
    """What scripts are told; :class:`HostProblem` says under what names."""

    clock: Clock
    #: Key files, relative to the home folder.
    keys: tuple[str, ...] = ()
    #: Tokens of the attempts that run on the host.
    live: tuple[str, ...] = ()

    @classmethod
    def of(cls, spec: JobSpec, clock: Clock, live: Iterable[str] = ()) -> "Around":
        """Give what the scripts of a job are told on a host where these attempts run."""
        return cls(clock, key_paths(spec), tuple(live))

    def env(self, facts: HostFacts) -> dict[str, str]:
        """Give it as the environment of scripts that start now."""
        return {
            "JOBMAN_NOW": str(round(self.clock.now().timestamp())),
            "JOBMAN_OWN_MACHINE": str(int(facts.own_machine)),
            "JOBMAN_DEVICES": " ".join(facts.devices),
            "JOBMAN_DEVICE_LOCK": facts.device_lock,
            "JOBMAN_LIVE": " ".join(self.live),
            "JOBMAN_KEYS": "\n".join(self.keys),
        }


def key_paths(spec: JobSpec) -> tuple[str, ...]:
    """Give where a job's hosts have the keys of its ``ssh`` section, below their home folder."""
    section = section_of(spec)
    if section is None:
        return ()
    home = home_folder()
    return tuple(file.target(home) for file in key_files(section))
