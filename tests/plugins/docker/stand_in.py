"""A stand-in for docker: what it is told to run in a container it runs as a process.

It is strict about its arguments, as far as jobman uses them, and keeps its containers in a folder:
each has a keeper that outlives the client, as containers do.

usage: stand_in.py FOLDER ARGUMENT…    as docker is called
       stand_in.py --keep CONTAINER    inside: keeps one container
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

_VALUED = {"--name", "--label", "--volume", "--env", "--workdir", "--network", "--shm-size"}
_BARE = {"--init", "--privileged", "--interactive"}
_NO_DAEMON = (
    "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. "
    "Is the docker daemon running?"
)


def fail(text: str, code: int = 1) -> int:
    print(text, file=sys.stderr)
    return code


class Container:
    """One container: a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.id = folder.name

    @property
    def spec(self) -> Any:
        return json.loads((self.folder / "spec").read_text())

    @property
    def code(self) -> int | None:
        exit_ = self.folder / "exit"
        return int(exit_.read_text()) if exit_.exists() else None

    @property
    def state(self) -> str:
        if self.code is not None:
            return "exited"
        return "running" if (self.folder / "pid").exists() else "created"

    def kill(self, number: int) -> None:
        with suppress(ProcessLookupError, FileNotFoundError):
            os.killpg(int((self.folder / "pid").read_text()), number)

    def wait(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.code is None and time.monotonic() < deadline:
            time.sleep(0.02)
        return self.code is not None

    def show(self, offset: int) -> int:
        """Be a client: show what comes, and end as the container does."""
        with (self.folder / "out").open("rb") as out:
            out.seek(offset)
            while True:
                code = self.code
                sys.stdout.buffer.write(out.read())
                sys.stdout.buffer.flush()
                if code is not None:
                    return code
                if not self.folder.exists():
                    return 137
                time.sleep(0.02)


class Docker:
    """All of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.containers = folder / "containers"

    def find(self, name: str) -> Container | None:
        for container in map(Container, sorted(self.containers.iterdir())):
            if name in (container.id, container.spec["name"]):
                return container
        return None

    def be_slow(self, verb: str) -> None:
        while (self.folder / f"slow-{verb}").exists():
            time.sleep(0.02)

    def call(self, argv: list[str]) -> int:
        with (self.folder / "calls").open("a") as calls:
            calls.write(json.dumps(argv) + "\n")
        if (self.folder / "root-only").exists() and os.environ.get("AS_ROOT") != "1":
            return fail("permission denied while trying to connect to the Docker daemon socket")
        if (self.folder / "down").exists():
            return fail(_NO_DAEMON)
        return int(getattr(self, f"do_{argv[0]}")(argv[1:]))

    def do_version(self, argv: list[str]) -> int:
        assert argv == ["--format", "{{.Server.Version}}"]
        print("28.0.0")
        return 0

    def do_login(self, argv: list[str]) -> int:
        assert argv[:3] == ["--username", "oauth2accesstoken", "--password-stdin"]
        config = Path(os.environ["DOCKER_CONFIG"]) / "config.json"
        config.write_text(json.dumps({argv[3]: sys.stdin.read()}))
        return 0

    def do_pull(self, argv: list[str]) -> int:
        (_,) = argv
        config = Path(os.environ.get("DOCKER_CONFIG", "/nowhere")) / "config.json"
        seen = config.read_text() if config.exists() else ""
        (self.folder / "login-at-pull").write_text(seen)
        refusal = self.folder / "no-pull"
        if refusal.exists():
            return fail(refusal.read_text())
        print("Status: Downloaded newer image")
        return 0

    def do_image(self, argv: list[str]) -> int:
        assert argv[0] == "inspect"
        return 0 if argv[1] in (self.folder / "images").read_text().split() else 1

    def do_create(self, argv: list[str]) -> int:
        told: dict[str, list[str]] = {flag: [] for flag in _VALUED}
        while argv[0].startswith("-"):
            flag, _, value = argv.pop(0).partition("=")
            if flag in _VALUED:
                told[flag].append(value or argv.pop(0))
            elif f"{flag}={value}" not in _BARE and flag not in _BARE:
                return fail(f"unknown flag: {flag}")
        image, *command = argv
        self.be_slow("create")
        if "no-such" in image:
            return fail(f"pull access denied for {image}, repository does not exist")
        env = {"PATH": os.defpath, "IN_CONTAINER": "1"}
        for item in told["--env"]:
            name, equals, value = item.partition("=")
            if equals or name in os.environ:
                env[name] = value if equals else os.environ[name]
        (name,) = told["--name"]
        if self.find(name):
            return fail(f'Conflict. The container name "/{name}" is already in use')
        folder = self.containers / uuid.uuid4().hex
        folder.mkdir(mode=0o700)
        spec = {
            "name": name,
            "labels": told["--label"],
            "env": env,
            "cwd": told["--workdir"][-1],
            "command": command,
            "image": image,
        }
        (folder / "out").touch()
        (folder / "spec.new").write_text(json.dumps(spec))
        (folder / "spec.new").rename(folder / "spec")
        print(folder.name)
        return 0

    def do_start(self, argv: list[str]) -> int:
        assert argv[0] == "--attach"
        assert argv[1:-1] in ([], ["--interactive"])
        self.be_slow("start")
        container = self.find(argv[-1])
        if container is None:
            return fail(f"No such container: {argv[-1]}")
        folder = container.folder
        given = sys.stdin.buffer.read() if "--interactive" in argv else b""
        (folder / "in").write_bytes(given)
        if container.spec["image"] == "without-bash":
            (folder / "refused").write_text("127")
            return fail('exec: "bash": executable file not found in $PATH')
        subprocess.Popen(
            [sys.executable, __file__, "--keep", str(folder)],
            env={"PATH": os.defpath},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        # What the client is told it passes on.
        signal.signal(signal.SIGTERM, lambda number, _: container.kill(number))
        return container.show(0)

    def do_attach(self, argv: list[str]) -> int:
        assert argv[:2] == ["--no-stdin", "--sig-proxy=false"]
        container = self.find(argv[2])
        if container is None:
            return fail(f"No such container: {argv[2]}")
        return container.show((container.folder / "out").stat().st_size)

    def do_ps(self, argv: list[str]) -> int:
        assert argv[:3] == ["--all", "--quiet", "--no-trunc"]
        assert argv[3::2] == ["--filter"] * len(argv[3::2])
        wanted = {item.removeprefix("label=") for item in argv[4::2]}
        for container in map(Container, sorted(self.containers.iterdir())):
            if wanted <= set(container.spec["labels"]):
                print(container.id)
        return 0

    def do_inspect(self, argv: list[str]) -> int:
        assert argv[:2] == ["--format", "{{.State.Status}} {{.State.ExitCode}}"]
        container = self.find(argv[2])
        if container is None:
            return fail(f"No such object: {argv[2]}")
        refused = container.folder / "refused"
        code = int(refused.read_text()) if refused.exists() else container.code or 0
        print(container.state, code)
        return 0

    def do_stop(self, argv: list[str]) -> int:
        assert argv[0] == "-t"
        container = self.find(argv[2])
        if container is None:
            return fail(f"No such container: {argv[2]}")
        container.kill(signal.SIGTERM)
        if not container.wait(float(argv[1])):
            container.kill(signal.SIGKILL)
            container.wait(10)
        return 0

    def do_rm(self, argv: list[str]) -> int:
        assert argv[:2] == ["--force", "--volumes"]
        if (self.folder / "stuck").exists():
            return fail("could not kill container: tried to kill container, but did not receive")
        for name in argv[2:]:
            container = self.find(name)
            if container is None:
                return fail(f"No such container: {name}")
            if container.state == "running":
                container.kill(signal.SIGKILL)
                container.wait(10)
            shutil.rmtree(container.folder)
        return 0


def keep(folder: Path) -> int:
    spec = Container(folder).spec
    with (folder / "in").open("rb") as given, (folder / "out").open("ab") as out:
        program = subprocess.Popen(
            spec["command"],
            env=spec["env"],
            cwd=spec["cwd"],
            stdin=given,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    (folder / "pid.new").write_text(str(program.pid))
    (folder / "pid.new").rename(folder / "pid")
    code = program.wait()
    (folder / "exit.new").write_text(str(code if code >= 0 else 128 - code))
    with suppress(FileNotFoundError):  # Whoever removes it waits for nothing more.
        (folder / "exit.new").rename(folder / "exit")
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "--keep":
        sys.exit(keep(Path(sys.argv[2])))
    sys.exit(Docker(Path(sys.argv[1])).call(sys.argv[2:]))
