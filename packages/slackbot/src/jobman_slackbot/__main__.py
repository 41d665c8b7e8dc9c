"""``python -m jobman_slackbot``, and the program ``jobman-slackbot``."""

import sys

from jobman_slackbot.main import main

if __name__ == "__main__":
    sys.exit(main())
