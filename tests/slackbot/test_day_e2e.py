"""The day, told by the real bot of a real home, with a chart that is a picture."""

import sqlite3
from datetime import UTC, datetime, timedelta

import pytest
from tests.support.bots import BotLab

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]


async def test_days_that_were_missed_are_one_message_and_one_chart_over_kills(
    bots: BotLab,
) -> None:
    job = await bots.create("ada", "idler", cmd="true", start=True)
    await bots.until_status(job, "DONE")
    now = datetime.now(UTC)
    with sqlite3.connect(bots.lab.root / "jobs/.jobman/jobman.db", timeout=30) as db:
        # Its slice has stood there since the day before.
        since = (now - timedelta(hours=30)).isoformat(timespec="microseconds")
        db.execute("UPDATE slices SET requested_at = ?, ready_at = ?", [since, since])
    db.close()
    async with bots.app("root") as app:
        await app.remember("slack", {"day/last": f"{now.date() - timedelta(days=3)}"})
    bots.configure(day={"at": "00:00", "zone": "UTC"})
    await bots.start()
    await bots.reads("told late")
    await bots.kill()
    await bots.start()
    await bots.until(lambda: any(m.files for m in bots.slack.read(bots.channel)), "the chart")
    async with bots.app("root") as app:

        async def settled() -> bool:
            return not await app.recall("slack", prefix="day/chart")

        await bots.comes(settled, "no more charts are due")
    assert "\n".join(bots.told()).count("told late") == 1
    charts = [file for message in bots.slack.read(bots.channel) for file in message.files]
    assert [chart.content[:4] for chart in charts] == [b"\x89PNG"]
