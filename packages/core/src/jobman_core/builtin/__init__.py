"""What works with nothing installed; registered through the same hooks as any plugin."""

from typing import Final

from jobman_core.builtin import registration

#: Names and modules, as the plugin manager takes them.
BUILTINS: Final = (("builtin", registration),)
