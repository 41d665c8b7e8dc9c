"""jobman's core: jobs, tasks and queues on TPU slices that can vanish at any moment.

Plugin authors need one name from here, ``hookimpl``; everything else is imported from the module
that defines it.
"""

import pluggy

hookimpl = pluggy.HookimplMarker("jobman")

__all__ = ["hookimpl"]
