"""What went wrong, as the lines that are printed and the code that a command ends with."""

from collections.abc import Sequence

import typer

INTERRUPTED = 130
#: As a shell gives it for a program that SIGPIPE ended.
BROKEN_PIPE = 141
BAD_USAGE = 2


def leaves(error: BaseException) -> list[BaseException]:
    """Give an error, or those that a group of them is made of."""
    if isinstance(error, BaseExceptionGroup):
        return [leaf for part in error.exceptions for leaf in leaves(part)]
    return [error]


def exit_code(error: BaseException) -> int:
    """Give what a command that meets this ends with."""
    from jobman_core.errors import JobmanError

    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        return BROKEN_PIPE
    if isinstance(error, JobmanError) or is_usage(error):
        return int(getattr(error, "exit_code", 1))
    return 1


def is_usage(error: BaseException) -> bool:
    """Tell whether the parser of the command line refused something."""
    # Typer exports only this one of the family.
    return isinstance(error, typer.BadParameter.__mro__[2])


def is_bug(error: BaseException) -> bool:
    """Tell whether it is an error that jobman did not expect."""
    from jobman_core.errors import JobmanError

    return not (isinstance(error, JobmanError | OSError) or is_usage(error))


def lines(error: BaseException) -> list[str]:
    """Give what is printed: what is wrong, and after a colon what to do, a line each."""
    from jobman_core.errors import ConfigError, JobmanError

    if isinstance(error, ConfigError):
        return [str(fault) for fault in error.faults]
    if isinstance(error, JobmanError):
        return [f"error: {error}"]
    if is_usage(error):
        return [f"error: {_usage(error)}"]
    if isinstance(error, OSError) and error.strerror:
        what = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        return [f"error: {what}: make sure that it is there, that it is yours, and has room"]
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return [f"error: internal: {text}: please report it; run with -v for the traceback"]


def nearest(word: str, known: Sequence[str]) -> str | None:
    """Give the known word that was probably meant."""
    from difflib import get_close_matches

    # Half a word is a beginning far more often than a typing error.
    starts = [name for name in known if len(word) > 1 and name.startswith(word)]
    return next(iter([*starts, *get_close_matches(word, known, 1, 0.5)]), None)


def _usage(error: BaseException) -> str:
    """Say what the parser did not like in the way of all other errors."""
    context = getattr(error, "ctx", None)
    see = f"see `{context.command_path if context else 'jobman'} --help`"
    possible = getattr(error, "possibilities", ())
    if possible != ():
        option = getattr(error, "option_name", "")
        hint = f"did you mean {possible[0]}?" if possible else see
        return f"there is no option {option}: {hint}"
    say = getattr(error, "format_message", error.__str__)
    message = " ".join(str(say()).split()).rstrip(".")
    return f"{message[:1].lower()}{message[1:]}: {see}"
