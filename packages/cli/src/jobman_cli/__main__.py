"""``python -m jobman_cli``, and the program ``jobman``."""

import gc
import sys

# Start-up makes much and drops little: to look for garbage meanwhile is a tenth of its time.
# Front.run, where commands do their work, has it looked for again.
gc.disable()

from jobman_cli.main import main  # noqa: E402 - see above

if __name__ == "__main__":
    sys.exit(main())
