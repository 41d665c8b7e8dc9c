"""The tmux server of one home, driven through the program ``tmux``."""

import asyncio
import os

import attrs

from jobman_core.errors import CommandFailedError
from jobman_core.process import unhurried

#: What the server needs of our environment, and every pane of it would show for ever: no more.
_KEEP = frozenset({"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMUX_TMPDIR", "USER"})
#: What tmux says to someone who comes while the server is ending with its last session.
_SERVER_LEFT = ("no server running", "(Connection refused)", "lost server", "server exited")
#: What it says, besides, when there is nothing to end.
_NOTHING_THERE = (
    *_SERVER_LEFT,
    "can't find session",
    "no current target",
    "(No such file or directory)",
)
_TRIES = 20
_PAUSE = 0.05


@attrs.frozen
class Answer:
    """What tmux answered."""

    code: int
    out: str
    err: str


@attrs.frozen
class Server:
    """A server with a socket of its own, so that nobody's settings or sessions meet ours."""

    #: The name of its socket in the socket folder (``TMUX_TMPDIR``, else ``/tmp``).
    label: str

    @staticmethod
    def installed() -> bool:
        """Tell whether tmux is on PATH."""
        import shutil

        return shutil.which("tmux") is not None

    def argv(self, *arguments: str) -> tuple[str, ...]:
        """Give the arguments of tmux for this server; the user's tmux.conf is not read."""
        return ("-u", "-f", os.devnull, "-L", self.label, *arguments)

    async def open(self, name: str, argv: tuple[str, ...]) -> None:
        """Start a session that nobody looks at yet; tmux says nothing about what becomes of it.

        Raises:
            CommandFailedError: tmux refused.
        """
        # Several arguments after `--` are a program and its arguments: no shell reads them.
        command = ("new-session", "-d", "-s", name, "-x", "200", "-y", "50", "--", *argv)
        for _ in range(_TRIES):
            answer = await self._call(*command)
            if answer.code == 0 or not _says(answer, _SERVER_LEFT):
                break
            await asyncio.sleep(_PAUSE)
        if answer.code:
            raise self._refused("start", name, answer)

    async def has(self, name: str) -> bool:
        """Tell whether there is a session of exactly this name.

        Raises:
            CommandFailedError: tmux could not tell.
        """
        return self._judge(await self._call("has-session", "-t", f"={name}"), "look for", name)

    async def pids(self, name: str) -> list[int]:
        """Give the processes that a session's panes were started with; none if it is not there."""
        # The colon makes it a session's name where tmux expects a window's.
        answer = await self._call("list-panes", "-s", "-t", f"={name}:", "-F", "#{pane_pid}")
        if not self._judge(answer, "look at", name):
            return []
        return [int(line) for line in answer.out.split()]

    async def close(self, name: str) -> None:
        """End a session; one that is not there is no error.

        Raises:
            CommandFailedError: tmux refused.
        """
        self._judge(await self._call("kill-session", "-t", f"={name}"), "end", name)

    async def trial(self) -> str:
        """Start a server of its own beside this one for a moment; give the version of tmux.

        Raises:
            CommandFailedError: tmux refused.
        """
        # tmux leaves the socket behind: always the same one.
        apart, name = Server(f"{self.label}-trial"), f"trial-{os.getpid()}"
        await apart.open(name, ("sleep", "10"))
        await apart.close(name)
        return (await self._call("-V")).out.removeprefix("tmux ")

    @staticmethod
    def _judge(answer: Answer, doing: str, name: str) -> bool:
        if answer.code == 0:
            return True
        if _says(answer, _NOTHING_THERE):
            return False
        raise Server._refused(doing, name, answer)

    @staticmethod
    def _refused(doing: str, name: str, answer: Answer) -> CommandFailedError:
        return CommandFailedError(
            f"tmux could not {doing} session {name!r}: {answer.err or answer.out}: check that "
            "TMUX_TMPDIR, or /tmp, is a folder with a short path that you can write to"
        )

    async def _call(self, *arguments: str) -> Answer:
        # What tmux was asked to do it does: whoever is cancelled has to know that it is done.
        return await unhurried(asyncio.to_thread(_run, self.argv(*arguments)))


def _says(answer: Answer, texts: tuple[str, ...]) -> bool:
    return any(text in answer.err for text in texts)


def _run(argv: tuple[str, ...]) -> Answer:
    """Call tmux, as if from outside of any tmux that the user may be in."""
    import sh

    env = {key: value for key, value in os.environ.items() if key in _KEEP or key.startswith("LC_")}
    result = sh.Command("tmux")(
        *argv,
        _env=env,
        # The server stays where it was started: that must not be a folder that someone removes.
        _cwd="/",
        _in=None,
        _tty_out=False,
        _ok_code=list(range(256)),
        _return_cmd=True,
    )
    return Answer(result.exit_code, result.stdout.decode().strip(), result.stderr.decode().strip())
