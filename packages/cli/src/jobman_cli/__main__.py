"""``python -m jobman_cli`` is ``jobman``."""

import sys

from jobman_cli.main import main

if __name__ == "__main__":
    sys.exit(main())
