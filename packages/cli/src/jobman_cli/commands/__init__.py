"""The commands, one module each; a module's ``register`` adds its command to the app."""

from typing import Final

#: Title and commands of each section of the help, in its order. Every name is a module here,
#: with ``_`` for ``-``, and after it where the name alone is a word of Python's own.
SECTIONS: Final = (
    (
        "Jobs",
        (
            "create",
            "list",
            "show",
            "run",
            "resume",
            "stop",
            "reboot",
            "requeue",
            "cancel",
            "delete",
            "clean",
        ),
    ),
    ("Tasks", ("queue",)),
    (
        "Output",
        (
            "monitor",
            "logs",
            "attach",
            "ssh",
        ),
    ),
    (
        "Reports",
        (
            "usage",
            "quota",
            "storage",
            "billing",
        ),
    ),
    (
        "Files",
        (
            "init",
            "validate",
            "schema",
            "import-v3",
        ),
    ),
    (
        "More",
        (
            "demo",
            "doctor",
            "solve",
            "reap",
            "plugins",
        ),
    ),
)
