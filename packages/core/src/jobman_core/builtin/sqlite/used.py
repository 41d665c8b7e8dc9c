"""What was used in a span of time: slices and attempts, read for reports."""

from jobman_core.builtin.sqlite import statements as sql
from jobman_core.builtin.sqlite.database import Tx
from jobman_core.builtin.sqlite.rows import event_of, life_of, run_of
from jobman_core.models.usage import Used


def between(tx: Tx, since: str, until: str) -> Used:
    """Give what is known of a span of time."""
    span = {"since": since, "until": until}
    lives = [*tx.all(sql.GONE_LIVES, **span), *tx.all(sql.HELD_LIVES, **span)]
    runs = [*tx.all(sql.ENDED_RUNS, **span), *tx.all(sql.LIVE_RUNS, **span)]
    return Used(
        slices=tuple(map(life_of, lives)),
        runs=tuple(sorted(map(run_of, runs), key=lambda run: run.claimed_at)),
        reaped=tuple(map(event_of, tx.all(sql.REAPED, **span))),
    )
