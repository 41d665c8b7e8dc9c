"""Processes of this machine: known for certain, ended for certain, started to outlive us.

Of jobman it needs nothing but the errors and the home's paths, so plugins may import it as the
core does.
"""

from jobman_core.process.identity import ProcessIdentity, State, boot_id, end, machine_id
from jobman_core.process.launch import Launch, Report, shim_argv, start_detached, unhurried
from jobman_core.process.pane import start_in_pane
from jobman_core.process.records import Records, plain_name
from jobman_core.process.roster import Entry, Roster
from jobman_core.process.threads import in_daemon

__all__ = [
    "Entry",
    "Launch",
    "ProcessIdentity",
    "Records",
    "Report",
    "Roster",
    "State",
    "boot_id",
    "end",
    "in_daemon",
    "machine_id",
    "plain_name",
    "shim_argv",
    "start_detached",
    "start_in_pane",
    "unhurried",
]
