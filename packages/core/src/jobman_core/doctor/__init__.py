"""``jobman doctor``: all that jobman needs, how it stands, and what to do about it.

It is run first of all, where there is no home yet, and last of all, where one is damaged: nothing
that it looks at may keep it from looking at the rest.
"""

from jobman_core.doctor.doctor import Doctor

__all__ = ["Doctor"]
