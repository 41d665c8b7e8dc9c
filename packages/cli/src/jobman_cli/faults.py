"""The codes that a command ends with."""

INTERRUPTED = 130
#: As a shell gives it for a program that SIGPIPE ended.
BROKEN_PIPE = 141
BAD_USAGE = 2


def exit_code(error: BaseException) -> int:
    """Give what a command that meets this ends with."""
    from jobman_core.errors import exit_code_of

    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        return BROKEN_PIPE
    return exit_code_of(error)
