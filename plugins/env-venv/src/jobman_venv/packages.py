"""Says which of the named packages the environment that runs it lacks; ends with 1 if any.

Run on hosts, by whatever Python an environment has.
"""

import sys
from importlib import metadata  # Python 3.8 and later


def missing(name: str) -> bool:
    """Tell whether no distribution of that name is installed."""
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return True
    return False


lacks = [name for name in sys.argv[1:] if missing(name)]
if lacks:
    sys.exit("not installed: " + ", ".join(lacks))
