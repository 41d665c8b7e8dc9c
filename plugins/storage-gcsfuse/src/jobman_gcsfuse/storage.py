"""The storage called ``gcsfuse``: buckets of Google Cloud Storage as folders of the hosts."""

from collections.abc import Iterable, Sequence
from functools import cache, partial
from importlib.resources import files
from typing import ClassVar

import attrs

from jobman_core.command import Command, quote
from jobman_core.interfaces.backend import Problem
from jobman_core.interfaces.problem import HostProblem
from jobman_core.interfaces.storage import Storage
from jobman_core.models.attempt import SCRIPT
from jobman_core.models.job import JobSpec
from jobman_core.models.storage import BucketSize, Tell
from jobman_gcsfuse.check import is_name, look_up, plain_name, wrong_in_file
from jobman_gcsfuse.mounts import Mount, mounts_of
from jobman_gcsfuse.options import options
from jobman_gcsfuse.sizes import counted, list_buckets, measured

#: The cloud whose hosts are folders of the machine where people work.
_LOCAL = "local"
#: The variable with which Google's clients, gcsfuse among them, find other credentials.
_CREDENTIALS = "GOOGLE_APPLICATION_CREDENTIALS"


class Gcsfuse(Storage):
    """Scripts that never change; what a job says reaches them as their arguments."""

    name = "gcsfuse"
    measures: ClassVar[bool] = True

    async def check(self, spec: JobSpec) -> Iterable[Problem]:
        """Say what is wrong with the section, and with the buckets and where they are."""
        problems = wrong_in_file(spec)
        return problems or await look_up(spec)

    def mount(self, spec: JobSpec) -> Sequence[Command]:
        """Install gcsfuse where it is missing, and mount one bucket after the other."""
        commands = [_command("install", "never" if _is_local(spec) else "apt")]
        for mount in mounts_of(spec):
            script = mount.cache.get("prefix")
            if script:
                shell = ("bash", "-o", "pipefail") if spec.pipefail else ("bash",)
                environment = dict(spec.environment)
                commands.append(Command((*shell, SCRIPT), environment, stdin=script.encode()))
            own = {k: v for k, v in spec.environment.items() if k == _CREDENTIALS}
            commands.append(_command("mount", *_arguments(spec, mount), env=own))
        return commands

    def mounted(self, spec: JobSpec) -> Sequence[str]:
        """Ask of every mount whether it is there and answers, within three seconds each."""
        return _inline("mounted", *_pairs(mounts_of(spec)))

    def unmount(self, spec: JobSpec) -> Sequence[Command]:
        """Let go of all, the last one first.

        On cloud ``local`` what is not below a host's own folder stays: others may use it.
        """
        mounts = mounts_of(spec)[::-1]
        if _is_local(spec):
            mounts = tuple(mount for mount in mounts if mount.of_the_home)
        return [Command(_inline("unmount", *_pairs(mounts)))] if mounts else []

    def problems(self, spec: JobSpec) -> Sequence[HostProblem]:
        """Find mounts that are dead or gone; they are mounted again."""
        return [
            HostProblem(
                name=f"mount {mount.path}",
                check=_with_arguments("mounted", mount.bucket, mount.path),
                remedy=_with_arguments("mount", *_arguments(spec, mount)),
                remedy_text=f"mount gs://{mount.bucket} at {mount.path} again",
                cheap=True,
                # What is written into a folder that is no bucket is lost with its host.
                fatal=True,
            )
            for mount in mounts_of(spec)
        ]

    def buckets_of(self, spec: JobSpec) -> Sequence[str]:
        """Give the names of the buckets that a job mounts, each once."""
        return [*dict.fromkeys(plain_name(mount.bucket) for mount in mounts_of(spec))]

    async def buckets(self, project: str = "") -> Sequence[str]:
        """List the buckets of a project.

        Raises:
            PermanentCloudError: there is no project, or whoever asks may not.
            TransientCloudError: Cloud Storage did not answer.
        """
        return await list_buckets(project)

    async def sizes(
        self,
        buckets: Sequence[str],
        *,
        project: str = "",
        exact: bool = False,
        tell: Tell | None = None,
    ) -> Sequence[BucketSize]:
        """Say what buckets hold, by yesterday's sums of Cloud Monitoring or counted now."""
        names = [*dict.fromkeys(map(plain_name, buckets))]
        good = [name for name in names if is_name(name)]
        if exact:
            found = await counted(good, self.context, partial(self._tell, tell))
        else:
            found = await measured(good, project, self.context)
        known = {size.bucket: size for size in found}
        return [
            attrs.evolve(known.get(name, _no_bucket(name)), storage=self.name) for name in names
        ]

    def _tell(self, tell: Tell | None, size: BucketSize) -> None:
        if tell is not None:
            tell(attrs.evolve(size, storage=self.name))


def _no_bucket(name: str) -> BucketSize:
    return BucketSize("", name, trouble=f"{name!r} is no name of a bucket: write it alone")


def _is_local(spec: JobSpec) -> bool:
    return spec.candidates[0].cloud == _LOCAL


def _arguments(spec: JobSpec, mount: Mount) -> tuple[str, ...]:
    # A container's root is another user than the one who mounts.
    others = spec.env_type == "docker"
    return (mount.bucket, mount.path, *options(mount.cache, others=others))


def _pairs(mounts: Iterable[Mount]) -> list[str]:
    return [part for mount in mounts for part in (mount.bucket, mount.path)]


@cache
def _script(name: str) -> bytes:
    """Give one of the scripts, with what they have in common in front."""
    folder = files("jobman_gcsfuse") / "host"
    return b"".join((folder / f"{part}.sh").read_bytes() for part in ("common", name))


def _command(name: str, *arguments: str, env: dict[str, str] | None = None) -> Command:
    return Command(("bash", SCRIPT, *arguments), env or {}, stdin=_script(name))


def _inline(name: str, *arguments: str) -> tuple[str, ...]:
    """Give a script in the argv of bash, for where no file is made of it."""
    return ("bash", "-c", _script(name).decode(), Gcsfuse.name, *arguments)


def _with_arguments(name: str, *arguments: str) -> str:
    """Give a script that brings its arguments along, for where it can be given none."""
    return f"set -- {quote(arguments)}\n{_script(name).decode()}"
