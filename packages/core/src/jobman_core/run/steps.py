"""What a job's hosts need before work, step by step."""

from collections.abc import Sequence

from jobman_core.command import Command
from jobman_core.home import file_name
from jobman_core.interfaces.environment import Environment
from jobman_core.interfaces.storage import Storage
from jobman_core.models.attempt import SCRIPT
from jobman_core.models.job import JobSpec, PrefixScript
from jobman_core.run.host_step import PREFIX, HostStep
from jobman_core.run.identities import identity_step


def steps_of(
    spec: JobSpec, environment: Environment | None, storages: Sequence[Storage]
) -> tuple[HostStep, ...]:
    """Give all that a job's hosts need before work, in its order. Reads files that the job names.

    Raises:
        InvalidInputError: one of them cannot be used.
    """
    identities = identity_step(spec)
    steps = [] if identities is None else [identities]
    steps += [storage_step(storage, spec) for storage in storages]
    if environment is not None:
        steps.append(environment_step(environment, spec, None))
    return (*steps, *(prefix_step(script, spec) for script in spec.prefix))


def storage_step(storage: Storage, spec: JobSpec) -> HostStep:
    """Give the step that mounts a storage."""
    check = tuple(storage.mounted(spec))
    return HostStep(storage.name, f"storage {storage.name}", storage.mount(spec), check=check)


def environment_step(environment: Environment, spec: JobSpec, name: str | None) -> HostStep:
    """Give the step that makes an environment; None is the job's own.

    For some environments not every name is another one: the step is that of the job's own then,
    with the environment's name as its key.
    """
    key, title = environment.name, f"environment {environment.name}"
    own = is_own(environment, spec, name)
    commands = tuple(environment.setup(spec, None if own else name))
    if not own and commands != tuple(environment.setup(spec, None)):
        key, title = f"{key}_{file_name(str(name))}", f"{title} {name}"
    return HostStep(key, title, commands)


def is_own(environment: Environment, spec: JobSpec, name: str | None) -> bool:
    """Tell whether a task means the job's own environment, without reading what that is made of."""
    return name is None or name == spec.sections.get(environment.name, {}).get("name")


def prefix_step(script: PrefixScript, spec: JobSpec) -> HostStep:
    """Give the step that runs a prefix script."""
    options = ("-o", "pipefail") if spec.pipefail else ()
    content = script.run.encode("utf-8", "surrogateescape")
    return HostStep(
        f"{PREFIX}{file_name(script.name)}",
        f"prefix script {script.name}",
        [Command(("bash", *options, SCRIPT), stdin=content)],
        workers=script.workers,
        required=script.required,
        env=spec.environment,
        limit=None,
    )
