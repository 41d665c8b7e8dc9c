"""The local cloud: slices on this machine that can be preempted like real ones."""

from jobman_core.builtin.local.cloud import LocalCloud, LocalSettings

__all__ = ["LocalCloud", "LocalSettings"]
