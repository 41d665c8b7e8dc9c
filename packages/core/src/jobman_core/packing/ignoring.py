"""Patterns as they stand in a ``.gitignore``."""

from collections.abc import Iterable


class Rules:
    """Lines of patterns, of which the last that fits decides.

    One that is none is passed over, as git does.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        """Read the lines."""
        from pathspec import GitIgnoreSpec

        good = [line for line in lines if is_pattern(line)]
        self._spec = GitIgnoreSpec.from_lines(good)

    def say(self, path: str) -> bool | None:
        """Tell whether a path is ignored (that of a folder ends in a slash); None: no line fits."""
        return self._spec.check_file(path).include


def is_pattern(line: str) -> bool:
    """Tell whether a line can stand in a ``.gitignore``."""
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True
