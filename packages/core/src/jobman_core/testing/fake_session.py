"""A session that starts nothing, for tests of what stands above sessions."""

from pathlib import Path
from typing import ClassVar

import attrs

from jobman_core.command import Command
from jobman_core.errors import CommandFailedError
from jobman_core.interfaces.session import Session, SessionStart


@attrs.define
class FakeSessions:
    """What the fake sessions of a test have in common, as real ones have the machine."""

    #: What lives, by home and name.
    living: dict[tuple[Path, str], SessionStart] = attrs.field(factory=dict)
    #: All that was ever asked for, in order.
    started: list[SessionStart] = attrs.field(factory=list)
    #: Programs (the first argument) that die at once, and what they say.
    failing: dict[str, str] = attrs.field(factory=dict)

    def kill(self, name: str) -> None:
        """Let the sessions of a name die, as if someone had killed their process."""
        for key in [key for key in self.living if key[1] == name]:
            del self.living[key]


class FakeSession(Session):
    """Remembers what it was asked to start. Give tests a class of their own: :meth:`bound`."""

    name = "fake"
    world: ClassVar[FakeSessions]

    @classmethod
    def bound(cls, world: FakeSessions) -> type["FakeSession"]:
        """Give a class whose sessions live in this world; it can be registered like any other."""
        return type("BoundFakeSession", (cls,), {"world": world})

    async def start(self, start: SessionStart) -> None:
        """Note the start; a program that was declared failing fails as a real one would."""
        self.world.started.append(start)
        self.world.living.pop((self.context.home, start.name), None)
        said = self.world.failing.get(start.command.argv[0])
        if said is not None:
            raise CommandFailedError(
                f"session {start.name!r} did not start: its command ended at once; it said: "
                f"{said}: see {start.log}"
            )
        self.world.living[self.context.home, start.name] = start

    async def alive(self, name: str) -> bool:
        """Tell whether it was started and not ended."""
        return (self.context.home, name) in self.world.living

    async def end(self, name: str) -> None:
        """Note the end."""
        self.world.living.pop((self.context.home, name), None)

    def attach(self, name: str) -> Command:
        """Give a command that can be recognised."""
        return Command(("fake-attach", name))
