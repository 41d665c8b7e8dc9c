"""Tasks files: text to :class:`~jobman_core.models.task.QueueDefinition`.

A setting is looked up in the task, then in its accelerator's group, then in ``defaults``; one
that is written without a value counts as not set from there on. Nothing is interpolated.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import attrs

from jobman_core.config.faults import Faults, check_hosts, meant
from jobman_core.config.nodes import Map, Node, Path_, Scalar, Seq, is_null, locate, short, what
from jobman_core.config.reading import places_of
from jobman_core.config.sections import (
    CodeSection,
    GroupSection,
    RepoSection,
    TaskDefaults,
    TaskSection,
    TasksFile,
)
from jobman_core.config.shipped import code_of
from jobman_core.config.source import Source, parse_source
from jobman_core.config.structure import structure
from jobman_core.config.text import LARGE, decode, read_bytes
from jobman_core.config.values import work_folder
from jobman_core.models.accelerator import Accelerator
from jobman_core.models.job import JobSpec
from jobman_core.models.notice import NotifyRule
from jobman_core.models.task import Code, QueueDefinition, Repo, TaskSpec

_KEYS: Final = tuple(a.name for a in attrs.fields(TasksFile))
_TASKS: Final = "tasks"
_GROUP_KEYS: Final = frozenset(a.name for a in attrs.fields(GroupSection))
_MAIN: Final = "main"
#: Looking for the nearest of many ids takes long: only so many wrong ones get a suggestion.
_SUGGESTIONS: Final = 10
#: What is not inherited by who says otherwise where code comes from.
_INSTEAD: Final = {"code": ("repo", "branch"), "repo": ("code",)}
#: Tasks of a circle that are shown.
_SHOWN: Final = 12


def read_tasks(path: Path, home: Path | None = None) -> QueueDefinition:
    """Read a tasks file.

    Args:
        path: where it lies.
        home: where what it names is looked up first.

    Raises:
        ConfigError: every fault of the file.
    """
    return parse_tasks(read_bytes(path, LARGE), path, home)


def parse_tasks(content: bytes | str, path: Path, home: Path | None = None) -> QueueDefinition:
    """Read the content of a tasks file.

    Args:
        content: what it says.
        path: where it lies, or will lie.
        home: where what it names is looked up first.

    Raises:
        ConfigError: every fault of the content.
    """
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    source = parse_source(decode(data, path), path)
    reader = _Reader(source, home)
    tasks = reader.read()
    reader.faults.check()
    return QueueDefinition(tuple(tasks), hashlib.sha256(data).hexdigest(), reader.notify)


def queue_notes(spec: JobSpec, definition: QueueDefinition) -> tuple[str, ...]:
    """Give what the owner of a queue worker should know of its tasks file, a line each."""
    if spec.env_type is None and any(task.env for task in definition.tasks):
        return ("`env` of the tasks is passed over, as the job has no env_type",)
    return ()


def _names_in(node: Node | None) -> tuple[str, ...]:
    """Give the ids in a value of ``depends_on``, whatever else may be wrong with it."""
    items = node if isinstance(node, Seq) else () if node is None else (node,)
    return tuple(item.text for item in items if isinstance(item, Scalar) and not item.null)


def _given(settings: Map, key: str) -> bool:
    return key in settings and not is_null(settings[key])


def _with(inherited: Map, own: Map) -> Map:
    """Give settings with what they inherit: where code comes from is decided once."""
    drop = {name for key, names in _INSTEAD.items() if _given(own, key) for name in names}
    whole = inherited.without(drop)
    whole.update(own)
    return whole


@attrs.frozen
class _Found:
    """A task, and where it stands."""

    spec: TaskSpec
    path: Path_


class _Reader:
    def __init__(self, source: Source, home: Path | None) -> None:
        self.root = source.root
        self.file = Path(source.path)
        self.home = home
        self.faults = Faults(source.path, source.root, source.faults)
        self.repos: Mapping[str, RepoSection | None] = {}
        self.found: dict[str, _Found] = {}
        #: Who is told of the tasks.
        self.notify: NotifyRule | None = None

    def read(self) -> list[TaskSpec]:
        """Read all of the file; the result counts only if there are no faults."""
        for key in self.root:
            if key == _TASKS:
                wrong = "it belongs below an accelerator: write `accelerators:`, `v4-8:`, `tasks:`"
                self.faults.add((key,), wrong, place=self.root.at.get(key))
            elif key not in _KEYS:
                self.faults.unknown((key,), _KEYS, place=self.root.at.get(key))
        self.repos = self._repos()
        if _given(self.root, "notify"):
            self.notify = structure(self.root["notify"], NotifyRule, ("notify",), self.faults)
        defaults = self._settings(
            self._map(("defaults",), self.root.get("defaults")), ("defaults",)
        )
        if "accelerators" not in self.root and _TASKS not in self.root:
            self.faults.add(
                ("accelerators",), "it is missing: write `accelerators:` with the tasks"
            )
        groups = self._map(("accelerators",), self.root.get("accelerators"))
        for name, node in groups.items():
            self._group(("accelerators", name), name, node, defaults)
        self._check_dependencies()
        return [found.spec for found in self.found.values()]

    def _map(self, path: Path_, node: Node | None) -> Map:
        """Give a map; an empty one, and a fault, for something else."""
        if isinstance(node, Map):
            return node
        if node is not None and not is_null(node):
            self.faults.add(path, f"it must be a map of keys, not {what(node)}")
        return Map()

    def _repos(self) -> Mapping[str, RepoSection | None]:
        repos: dict[str, RepoSection | None] = {}
        for name, node in self._map(("repos",), self.root.get("repos")).items():
            section = node
            if isinstance(node, Scalar):
                section = Map(node.line, node.column)
                section["url"] = node
            repo = structure(section, RepoSection, ("repos", name), self.faults)
            if repo is not None and isinstance(node, Scalar):
                repo = RepoSection(repo.url)
            repos[name] = repo
        return repos

    def _settings(self, node: Map, path: Path_) -> Map:
        """Check what tasks inherit, once; gives it without what is faulty."""
        structure(node, TaskDefaults, path, self.faults)
        self._check_repo(node, path)
        return node.without([key for key in node if self.faults.is_broken((*path, key))])

    def _check_repo(self, settings: Map, path: Path_) -> None:
        node = settings.get("repo")
        if _given(settings, "repo") and _given(settings, "code"):
            self.faults.add((*path, "code"), "there is a repo as well: take one of them out")
        if not isinstance(node, Scalar) or node.null or node.text in self.repos:
            return
        hint = meant(node.text, self.repos) if self.repos else ": write it under `repos`"
        self.faults.add((*path, "repo"), f"no repo is called {short(node.text)!r}{hint}")
        self.faults.broken((*path, "repo"))

    def _group(self, path: Path_, name: str, node: Node, defaults: Map) -> None:
        accelerator: Accelerator | None = None
        try:
            accelerator = Accelerator.parse(name)
        except ValueError as error:
            self.faults.add(path, str(error))
        group = self._map(path, node)
        for key in group:
            if key not in _GROUP_KEYS:
                self.faults.unknown((*path, key), sorted(_GROUP_KEYS), place=group.at.get(key))
        own = self._settings(group.without(set(group) - _GROUP_KEYS | {_TASKS}), path)
        if accelerator is not None:
            for where, settings in ((("defaults",), defaults), (path, own)):
                if "workers" in settings:
                    place = (*where, "workers")
                    check_hosts(settings["workers"], place, accelerator.hosts, self.faults)
        inherited = _with(defaults, own)
        tasks = group.get(_TASKS)
        if tasks is None or is_null(tasks):
            return
        if not isinstance(tasks, Seq):
            message = f"it must be a list of tasks (each begins with `- id:`), not {what(tasks)}"
            self.faults.add((*path, _TASKS), message)
            return
        for index, task in enumerate(tasks):
            self._task((*path, _TASKS, index), task, inherited, accelerator)

    def _task(
        self, path: Path_, node: Node, inherited: Map, accelerator: Accelerator | None
    ) -> None:
        if not isinstance(node, Map):
            self.faults.add(path, f"a task is a map with `id:` and `run:`, not {what(node)}")
            return
        whole = _with(inherited, node)
        whole.at = node.at
        section = structure(whole, TaskSection, path, self.faults)
        self._check_repo(node, path)
        if accelerator is not None and "workers" in node:
            check_hosts(node["workers"], (*path, "workers"), accelerator.hosts, self.faults)
        if section is None:
            self._remember_name(path, node)
            return
        spec = self._spec(section, path, accelerator)
        self._remember(path, spec)

    def _spec(self, section: TaskSection, path: Path_, accelerator: Accelerator | None) -> TaskSpec:
        repo: Repo | None = None
        workdir: str | None = section.workdir
        known = self.repos.get(section.repo) if section.repo else None
        if section.repo and known is not None:
            repo = Repo(known.url, section.branch or known.branch or _MAIN)
            if workdir is None:
                workdir = self._folder(section.repo, path)
        code = None if section.code is None else self._code(section.code, workdir, path)
        return TaskSpec(
            id=section.id,
            run=section.run,
            accelerator=accelerator.name if accelerator else "",
            zone=section.zone,
            repo=repo,
            workdir=code.workdir if code else workdir,
            code=code,
            env=section.env,
            max_jobs=section.max_jobs,
            max_retries=section.max_retries,
            depends_on=tuple(dict.fromkeys(section.depends_on)),
            workers=section.workers,
            hide=section.hide,
        )

    def _code(self, section: CodeSection, workdir: str | None, path: Path_) -> Code | None:
        """Give what a task ships; its folder need not be there yet."""
        tried = places_of(section.path, self.file, self.home)
        found = next((place for place in tried if place.exists()), tried[0])
        return code_of(section, str(found), (*path, "code"), self.faults, workdir=workdir)

    def _folder(self, repo: str, path: Path_) -> str | None:
        """Give the folder of a repository that has none of its own: its key."""
        try:
            return work_folder(repo)
        except ValueError as error:
            self.faults.add((*path, "workdir"), f"the key of the repo cannot be it: {error}")
            return None

    def _remember_name(self, path: Path_, node: Map) -> None:
        """Keep what other tasks are judged by of one that is faulty itself."""
        name = node.get("id")
        if isinstance(name, Scalar) and not name.null:
            others = _names_in(node.get("depends_on"))
            self._remember(path, TaskSpec(id=name.text, run="", accelerator="", depends_on=others))

    def _remember(self, path: Path_, spec: TaskSpec) -> None:
        first = self.found.get(spec.id)
        if first is None:
            self.found[spec.id] = _Found(spec, path)
            return
        line, _ = locate(self.root, (*first.path, "id"))
        message = f"duplicate task id {short(spec.id)!r}: the first one is on line {line}"
        self.faults.add((*path, "id"), message)

    def _check_dependencies(self) -> None:
        suggestions = 0
        for found in self.found.values():
            for name in found.spec.depends_on:
                if name in self.found:
                    continue
                suggestions += 1
                hint = ": check its spelling"
                if suggestions <= _SUGGESTIONS:
                    hint = meant(name, self.found)
                path = self._dependency(found, name)
                self.faults.add(path, f"no task is called {short(name)!r}{hint}")
        self._check_circles()

    def _dependency(self, found: _Found, name: str) -> Path_:
        """Give the path of a task's dependency: its own, or the one it inherits."""
        path = found.path
        for base in (path, path[:2], ("defaults",)):
            node: Node | None = self.root
            for part in (*base, "depends_on"):
                if isinstance(node, Map) and isinstance(part, str):
                    node = node.get(part)
                elif isinstance(node, Seq) and isinstance(part, int):
                    node = node[part]
            if isinstance(node, Seq):
                for index, item in enumerate(node):
                    if isinstance(item, Scalar) and item.text == name:
                        return (*base, "depends_on", index)
            elif isinstance(node, Scalar):
                return (*base, "depends_on")
        return path

    def _check_circles(self) -> None:
        """Find tasks that wait for themselves; each circle is told of once."""
        done: set[str] = set()
        for start in self.found:
            #: Open tasks, outermost first, each with what is left of its dependencies.
            stack = {start: iter(self.found[start].spec.depends_on)} if start not in done else {}
            while stack:
                name = next(reversed(stack))
                following = next(stack[name], None)
                if following is None:
                    done.add(name)
                    del stack[name]
                elif following in stack:
                    self._tell_circle([*stack], following, name)
                elif following in self.found and following not in done:
                    stack[following] = iter(self.found[following].spec.depends_on)

    def _tell_circle(self, stack: list[str], first: str, last: str) -> None:
        circle = [*stack[stack.index(first) :], first]
        if len(circle) > _SHOWN:
            circle = [*circle[: _SHOWN // 2], "…", *circle[-_SHOWN // 2 :]]
        shown = " -> ".join(map(short, circle))
        path = self._dependency(self.found[last], first)
        self.faults.add(path, f"tasks wait for each other: {shown}: take one dependency out")
