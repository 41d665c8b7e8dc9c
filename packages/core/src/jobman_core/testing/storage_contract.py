"""What every storage must do."""

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import pytest

from jobman_core.command import Command
from jobman_core.errors import InvalidInputError
from jobman_core.interfaces.host import Host
from jobman_core.interfaces.storage import Storage
from jobman_core.models.attempt import SCRIPT
from jobman_core.models.job import JobSpec
from jobman_core.testing.fakes import FakeHost
from jobman_core.testing.trial import LOOK_LIMIT, Ran, run_step, run_steps

if TYPE_CHECKING:
    from jobman_core.models.storage import BucketSize


class StorageContract:
    """Subclass it with the fixtures ``storage`` and ``spec``, and with :attr:`folder`.

    The host is a folder of this machine in which commands run as they are, unless ``host`` is
    another. After each test it is unmounted there.
    """

    #: Where it is mounted and may be written to: absolute, or below the host's home.
    folder: ClassVar[str]

    @pytest.fixture
    @abstractmethod
    def storage(self) -> Storage:
        """Give the storage; what it keeps is empty."""

    @pytest.fixture
    @abstractmethod
    def spec(self) -> JobSpec:
        """Give a job whose section is good."""

    @pytest.fixture
    def host(self, tmp_path_factory: pytest.TempPathFactory) -> Host:
        """Give a host on which nothing is mounted."""
        return FakeHost(0, tmp_path_factory.mktemp("host") / "it's a home")

    async def write(self, host: Host, name: str, text: str) -> None:
        """Write a file into the mounted folder."""
        ran = await run_step(host, _shell('cat > "$1/$2"', self.folder, name, stdin=text))
        assert ran.code == 0, ran.text

    async def read(self, host: Host, name: str) -> Ran:
        """Read a file of the mounted folder."""
        return await run_step(host, Command(("cat", f"{self.folder}/{name}")))

    async def says_mounted(self, host: Host, storage: Storage, spec: JobSpec) -> bool | None:
        """Ask the storage itself; None: it has no way to tell."""
        argv = storage.mounted(spec)
        return (await host.run(Command(argv), limit=LOOK_LIMIT)).ok if argv else None

    async def test_a_good_section_is_not_refused(self, storage: Storage, spec: JobSpec) -> None:
        assert list(await storage.check(spec)) == []

    def test_the_same_job_has_the_same_commands(self, storage: Storage, spec: JobSpec) -> None:
        # Else it would be mounted again at every start.
        assert list(storage.mount(spec)) == list(storage.mount(spec))
        assert list(storage.unmount(spec)) == list(storage.unmount(spec))

    async def test_what_is_written_is_there_again_after_an_unmount(
        self, host: Host, storage: Storage, spec: JobSpec
    ) -> None:
        await run_steps(host, storage.mount(spec))
        await self.write(host, "it's a checkpoint", "step 7\n")
        await run_steps(host, storage.unmount(spec))
        assert (await self.read(host, "it's a checkpoint")).code != 0
        await run_steps(host, storage.mount(spec))
        again = await self.read(host, "it's a checkpoint")
        assert (again.code, again.output) == (0, b"step 7\n")
        await run_steps(host, storage.unmount(spec))

    async def test_tells_whether_it_is_mounted(
        self, host: Host, storage: Storage, spec: JobSpec
    ) -> None:
        assert await self.says_mounted(host, storage, spec) in (False, None)
        await run_steps(host, storage.mount(spec))
        assert await self.says_mounted(host, storage, spec) in (True, None)
        await run_steps(host, storage.unmount(spec))
        assert await self.says_mounted(host, storage, spec) in (False, None)

    async def test_mounting_again_disturbs_nothing(
        self, host: Host, storage: Storage, spec: JobSpec
    ) -> None:
        await run_steps(host, storage.mount(spec))
        await self.write(host, "kept", "here")
        await run_steps(host, storage.mount(spec))
        assert (await self.read(host, "kept")).output == b"here"
        await run_steps(host, storage.unmount(spec))

    async def test_unmounting_what_is_not_mounted_is_no_error(
        self, host: Host, storage: Storage, spec: JobSpec
    ) -> None:
        await run_steps(host, storage.unmount(spec))
        await run_steps(host, storage.mount(spec))
        await run_steps(host, storage.unmount(spec))
        await run_steps(host, storage.unmount(spec))

    async def test_its_own_checks_find_nothing_wrong_once_it_is_mounted(
        self, host: Host, storage: Storage, spec: JobSpec
    ) -> None:
        await run_steps(host, storage.mount(spec))
        problems = storage.problems(spec)
        assert len({problem.name for problem in problems}) == len(problems)
        for problem in problems:
            check = Command(("bash", SCRIPT), stdin=problem.check.encode())
            ran = await run_step(host, check)
            assert ran.code == 0, f"{problem.name}: {ran.text}"
        await run_steps(host, storage.unmount(spec))

    async def test_a_bucket_of_a_job_has_a_size_or_a_reason(
        self, host: Host, storage: Storage, spec: JobSpec
    ) -> None:
        if not storage.measures:
            with pytest.raises(InvalidInputError):
                await storage.sizes(storage.buckets_of(spec))
            return
        await run_steps(host, storage.mount(spec))
        await self.write(host, "measured", "12345678")
        await run_steps(host, storage.unmount(spec))
        buckets = storage.buckets_of(spec)
        heard: list[BucketSize] = []
        for exact in (False, True):
            for size in await storage.sizes([*buckets, "Nowhere!"], exact=exact, tell=heard.append):
                assert size.storage == storage.name
                assert size.trouble or size.bucket in buckets
                assert not (exact and size.partial)
        held = await storage.sizes(buckets, exact=True)
        assert sum(size.total().bytes for size in held) >= 8
        assert {size.bucket for size in heard} <= set(buckets)


def _shell(script: str, *args: str, stdin: str = "") -> Command:
    return Command(("sh", "-c", script, "sh", *args), stdin=stdin.encode())
