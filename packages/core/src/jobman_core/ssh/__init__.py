"""Hosts that are reached by OpenSSH, as the person who runs jobman has it set up."""

from jobman_core.ssh.access import Access, own_keys
from jobman_core.ssh.hosts import hosts_of
from jobman_core.ssh.keys import public_keys
from jobman_core.ssh.links import Links

__all__ = ["Access", "Links", "hosts_of", "own_keys", "public_keys"]
