"""The public keys that a new host has to let in: those that OpenSSH would offer it."""

import asyncio
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path
from typing import Final

from jobman_core.command import quote
from jobman_core.errors import PermanentCloudError, TransientCloudError
from jobman_core.ssh.access import Access, own_keys
from jobman_core.ssh.links import Links

#: Seconds that a program gets which only has to look a key up: an agent at the other end of a
#: forwarding that hangs gives no answer at all.
LOOK_UP_LIMIT: Final = 10.0


async def public_keys(
    access: Access, links: Links, *, limit: float = LOOK_UP_LIMIT
) -> tuple[str, ...]:
    """Give public keys as clouds take them, each ``USER:TYPE BASE64``.

    Of ``ssh.private_key`` alone where there is one, else gcloud's, the user's own and the agent's.

    Args:
        access: whose keys.
        links: where they are.
        limit: seconds for a program that looks one up.

    Raises:
        PermanentCloudError: there is none; the message says how to make one.
        TransientCloudError: a program that looks them up gives no answer.
    """
    if access.private_key is not None:
        found = await _of_private(access.private_key, limit)
    else:
        texts = [_text(key.with_name(f"{key.name}.pub")) for key in own_keys(links.folder)]
        texts.append(await _said("ssh-add", "-L", links=links, limit=limit))
        found = [key for text in texts for key in _keys(text)]
        if not found:
            raise PermanentCloudError(
                f"there is no SSH key to let in: make one, `ssh-keygen -t ed25519 -f "
                f"{links.folder / 'id_ed25519'}`, or name one as ssh.private_key"
            )
    return tuple(f"{access.user}:{key}" for key in dict.fromkeys(found))


async def _of_private(path: Path, limit: float) -> list[str]:
    public = path.with_name(f"{path.name}.pub")
    # Without a question: a passphrase is not known here.
    argv = ("ssh-keygen", "-y", "-P", "", "-f", str(path))
    found = _keys(_text(public)) or _keys(await _said(*argv, limit=limit))
    if not found:
        raise PermanentCloudError(_why_none(path, public))
    return found


def _why_none(path: Path, public: Path) -> str:
    if not path.is_file():
        return f"there is no key file {path}: check ssh.private_key"
    how = f"`ssh-keygen -y -f {path} > {public}` writes it"
    return f"the public key of ssh.private_key {path} is not known: {how}"


def _keys(text: str) -> list[str]:
    """Read lines of ``TYPE BASE64 COMMENT``; a certificate lets nobody in by itself."""
    lines = (line.split() for line in text.splitlines())
    return [
        " ".join(words[:2])
        for words in lines
        if len(words) > 1 and words[0][0] not in "#-" and "-cert-" not in words[0]
    ]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


async def _said(*argv: str, limit: float, links: Links | None = None) -> str:
    """Give what a program says if all goes well, else nothing: there need not be an agent."""
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=DEVNULL,
            env=links.environ if links else None,
            start_new_session=True,
        )
    except FileNotFoundError:
        return ""
    try:
        async with asyncio.timeout(limit):
            out, _ = await process.communicate()
    except TimeoutError as error:
        why = "see that your agent (SSH_AUTH_SOCK) is well, or that the disk of your keys is"
        raise TransientCloudError(f"`{quote(argv)}` gives no answer: {why}") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return out.decode("utf-8", "replace") if process.returncode == 0 else ""
