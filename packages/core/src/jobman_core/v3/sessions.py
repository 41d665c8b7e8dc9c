"""Whether v3 still runs: its jobs live in sessions of tmux."""

import asyncio


async def live_sessions() -> frozenset[str]:
    """Give the names of this user's sessions of tmux, of its usual server."""
    try:
        tmux = await asyncio.create_subprocess_exec(
            *("tmux", "list-sessions", "-F", "#{session_name}"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except FileNotFoundError:
        # Without tmux there is no v3 that runs.
        return frozenset()
    said, _ = await tmux.communicate()
    return frozenset(said.decode("utf-8", "replace").splitlines())
