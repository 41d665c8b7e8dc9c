"""Whose home it is: its UUID, its owner, and the one machine that may use it."""

import json
import socket
from collections.abc import Callable
from pathlib import Path

import attrs

from jobman_core.builtin.sqlite import statements as sql
from jobman_core.builtin.sqlite.database import Tx
from jobman_core.errors import HeldError, NotYoursError, StoreError
from jobman_core.files import put
from jobman_core.group import owner_of
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

    def name(self, tx: Tx) -> None:
        """Give a new home its UUID."""
        if not self.named(tx):
            import uuid

            tx.run(sql.PUT_META, "home_id", str(uuid.uuid4()))

    def named(self, tx: Tx) -> bool:
        """Tell whether the home has a UUID, and this machine may read it.

        Raises:
            HeldError: it belongs to another machine.
        """
        self.mine()
        return tx.one(sql.META, "home_id") is not None

    def bind(self, tx: Tx) -> None:
        """Bind a home that has its UUID, so that a bond means that there was a database once.

        Raises:
            HeldError: it belongs to another machine.
        """
        if self.mine():
            return
        # The id is for people whose database is lost: what it knew of carries that as a label.
        holder = {"machine": self.machine(), "name": socket.gethostname(), "home": home_id(tx)}
        put(self._path, json.dumps(holder), secret=False)

    def mine(self) -> bool:
        """Tell whether the home is bound to this machine; False: to none.

        Raises:
            HeldError: it belongs to another machine.
            NotYoursError: it is another person's.
            StoreError: the bond cannot be read.
        """
        holder = self._holder()
        if holder is None:
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
        except OSError as error:
            owner = owner_of(self.home.state)
            if isinstance(error, PermissionError) and owner:
                raise NotYoursError(
                    f"the home {self.home.root} is {owner}'s alone: name one of your own with "
                    "--home or JOBMAN_HOME, or ask them to share it with a group"
                ) from error
            raise StoreError(
                f"{self._path} cannot be read ({error.strerror}): check the permissions and the "
                "disk of its folder"
            ) from error
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(
                f"{self._path} cannot be read ({error}): remove it if this is the only machine "
                "that uses this home"
            ) from error
