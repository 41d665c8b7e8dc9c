"""What works with nothing installed; registered through the same hooks as any plugin."""

from collections.abc import Mapping


def builtins() -> Mapping[str, object]:
    """Give the modules whose hooks bring the built-ins, by name."""
    from jobman_core.builtin import registration

    return {"builtin": registration}
