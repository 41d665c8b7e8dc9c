"""Controllers that die, or hang, at a named moment: before or after what they do to the world."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial
from typing import Any, Final, Self, cast

import attrs

from jobman_core.interfaces.cloud import Cloud
from jobman_core.interfaces.host import Host, Runner
from jobman_core.interfaces.store import Store
from jobman_core.models.lease import Controller
from jobman_core.models.slice import Slice

#: What of each backend changes something: between two of these a death makes no difference.
CHANGES: Final = {
    "store": {
        *("register", "take_lease", "drop_lease", "retire", "open_queue", "define"),
        *("open_slice", "save_slice", "claim", "open_attempt", "save_attempt", "end_attempt"),
        "set_ending",
    },
    "cloud": {"create", "delete"},
    "runner": {"launch", "end"},
    "host": {"run", "put"},
}


class Death(BaseException):
    """The process of a controller is gone."""


@attrs.frozen
class Moment:
    """Before or after the n-th call of something."""

    when: str
    call: str
    number: int

    def __str__(self) -> str:
        return f"{self.when} {self.call} {self.number}"

    @classmethod
    def read(cls, text: str) -> Self:
        """Read what its text says."""
        when, call, number = text.split()
        return cls(when, call, int(number))


@attrs.define
class Mortal:
    """One controller's way to store, cloud and hosts, which ends at a moment."""

    dies: Moment | None = None
    hangs: Moment | None = None
    #: In the store it is a process that nobody can find: whoever comes next signals nobody.
    lost: bool = True
    dead: bool = False
    #: All moments that there were, in order.
    moments: list[Moment] = attrs.field(factory=list)
    #: What was let through to cloud and hosts after it hung.
    late: list[str] = attrs.field(factory=list)
    _calls: Counter[str] = attrs.field(factory=Counter)
    _awake: asyncio.Event = attrs.field(factory=asyncio.Event)
    _hung: bool = False

    def __attrs_post_init__(self) -> None:
        self._awake.set()

    @property
    def hung(self) -> bool:
        """It has come to the moment at which it hangs."""
        return self._hung

    def die(self) -> None:
        """Let nothing more come from it."""
        self.dead = True

    def hang(self) -> None:
        """Let nothing more come from it until it is woken."""
        self._hung = True
        self._awake.clear()

    def wake(self) -> None:
        """Let it go on."""
        self._awake.set()

    def store(self, store: Store) -> Store:
        """Give its way to a store."""
        return cast("Store", (_Stranger if self.lost else Way)(store, self, "store"))

    def cloud(self, cloud: Cloud) -> Cloud:
        """Give its way to a cloud, and to the hosts there."""
        return cast("Cloud", _Cloud(cloud, self, "cloud"))

    def runner(self, runner: Runner) -> Runner:
        """Give its way to a runner."""
        return cast("Runner", _Runner(runner, self, "runner"))

    def host(self, host: Host) -> Host:
        """Give its way to a host."""
        return cast("Host", Way(host, self, "host"))

    async def pass_by(self, when: str, place: str, name: str) -> None:
        """Go past a moment, or end there."""
        self._check()
        if name not in CHANGES[place]:
            return
        call = f"{place}.{name}"
        self._calls[call] += when == "before"
        moment = Moment(when, call, self._calls[call])
        self.moments.append(moment)
        if moment == self.dies:
            self.die()
        if moment == self.hangs:
            self.hang()
        self._check()
        await self._awake.wait()
        self._check()
        if self._hung and when == "after" and moment != self.hangs and place != "store":
            self.late.append(call)

    def _check(self) -> None:
        if self.dead:
            raise Death


class Way:
    """Passes everything on to a backend, past the moments before and after each call."""

    def __init__(self, inner: Any, mortal: Mortal, place: str) -> None:
        self._inner = inner
        self._mortal = mortal
        self._place = place

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return partial(self._call, name, found) if asyncio.iscoroutinefunction(found) else found

    async def _call(self, name: str, call: Callable[..., Any], *args: Any, **more: Any) -> Any:
        await self._mortal.pass_by("before", self._place, name)
        result = await call(*args, **more)
        await self._mortal.pass_by("after", self._place, name)
        return result


class _Stranger(Way):
    async def register(self, controller: Controller) -> None:
        stranger = attrs.evolve(controller, boot_id="an earlier boot")
        await self._call("register", self._inner.register, stranger)


class _Cloud(Way):
    def runner(self, slice_: Slice) -> Runner:
        return self._mortal.runner(self._inner.runner(slice_))

    def hosts(self, slice_: Slice) -> Sequence[Host]:
        return [self._mortal.host(host) for host in self._inner.hosts(slice_)]


class _Runner(Way):
    async def follow(self, *args: Any) -> AsyncGenerator[Any, None]:
        async for report in self._inner.follow(*args):
            await self._mortal.pass_by("after", "runner", "follow")
            yield report
