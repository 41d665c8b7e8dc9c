"""Whose home it is: its UUID, and the one machine that may use it."""

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

import attrs

from jobman_core.builtin.sqlite import statements as sql
from jobman_core.builtin.sqlite.database import Tx
from jobman_core.errors import HeldError, StoreError
from jobman_core.home import Home


def home_id(tx: Tx) -> str:
    """Give the home's UUID."""
    row = tx.one(sql.META, "home_id")
    if row is None:
        raise StoreError("the database has no home id: put a copy of it back")
    found: str = row["value"]
    return found


@attrs.frozen
class Binding:
    """Binds a home to the machine that first opens it.

    The bond is a small file beside the database, so that one who knows that the old machine is
    gone for good can undo it with ``rm``.
    """

    home: Home
    machine: Callable[[], str]

    def bind(self, tx: Tx) -> None:
        """Give a new home its UUID, and bind it.

        Raises:
            HeldError: it belongs to another machine.
        """
        if tx.one(sql.META, "home_id") is None:
            import uuid

            tx.run(sql.PUT_META, "home_id", str(uuid.uuid4()))
        if self._holder() is None:
            aside = self._path.with_suffix(f".{os.getpid()}.tmp")
            handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "w") as file:
                json.dump({"machine": self.machine(), "name": socket.gethostname()}, file)
            aside.replace(self._path)
        self.bound(tx)

    def bound(self, tx: Tx) -> bool:
        """Tell whether the home has a UUID and is this machine's.

        Raises:
            HeldError: it belongs to another machine.
        """
        holder = self._holder()
        if holder is None or tx.one(sql.META, "home_id") is None:
            return False
        machine, name = holder
        if machine != self.machine():
            raise HeldError(
                f"the home {self.home.root} belongs to another machine ({name}): run jobman "
                f"there; if that machine is gone for good, remove {self._path}"
            )
        return True

    @property
    def _path(self) -> Path:
        return self.home.state / "machine.json"

    def _holder(self) -> tuple[str, str] | None:
        try:
            data = json.loads(self._path.read_text("utf-8"))
            return str(data["machine"]), str(data["name"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(
                f"{self._path} cannot be read ({error}): remove it if this is the only machine "
                "that uses this home"
            ) from error
