"""The tables, and the steps that brought them to where they are.

A step is a list of statements; the database's ``user_version`` is how many were taken. To change a
table, append a step: one that was released is never edited.
"""

from collections.abc import Sequence
from typing import Final

Step = Sequence[str]

#: ``{strict}`` becomes STRICT where this SQLite knows it (3.37), else nothing.
_VERSION_1: Final[Step] = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) {strict}",
    """CREATE TABLE jobs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        user TEXT NOT NULL,
        name TEXT NOT NULL,
        base_name TEXT NOT NULL,
        accelerator TEXT NOT NULL,
        zone TEXT NOT NULL,
        cloud TEXT NOT NULL,
        session TEXT NOT NULL,
        queue TEXT,
        worker_num TEXT,
        run_id TEXT NOT NULL,
        created_at TEXT NOT NULL,
        published INTEGER NOT NULL DEFAULT 0,
        spec_hash TEXT NOT NULL DEFAULT '',
        desired TEXT NOT NULL DEFAULT 'stopped',
        step TEXT NOT NULL DEFAULT 'none',
        step_reason TEXT NOT NULL DEFAULT '',
        ending_kind TEXT,
        ending_reason TEXT,
        restarts INTEGER NOT NULL DEFAULT 0,
        recoveries INTEGER NOT NULL DEFAULT 0,
        avoid_task TEXT,
        -- the newest of its slices; 0: none yet
        generation INTEGER NOT NULL DEFAULT 0,
        -- of the newest lease ever
        epoch INTEGER NOT NULL DEFAULT 0,
        -- attempts of its command, ever
        runs INTEGER NOT NULL DEFAULT 0
    ) {strict}""",
    """CREATE UNIQUE INDEX jobs_name ON jobs (name)
        WHERE desired NOT IN ('cancelled', 'deleted')""",
    "CREATE INDEX jobs_drafts ON jobs (created_at) WHERE published = 0",
    """CREATE TABLE controllers (
        id TEXT PRIMARY KEY,
        machine TEXT NOT NULL,
        boot_id TEXT NOT NULL,
        pid INTEGER NOT NULL,
        pid_start INTEGER NOT NULL,
        beat REAL NOT NULL
    ) {strict}""",
    """CREATE TABLE leases (
        job INTEGER PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
        controller TEXT NOT NULL REFERENCES controllers (id) ON DELETE CASCADE,
        epoch INTEGER NOT NULL
    ) {strict}""",
    "CREATE INDEX leases_controller ON leases (controller)",
    """CREATE TABLE slices (
        job INTEGER NOT NULL REFERENCES jobs (id),
        generation INTEGER NOT NULL,
        -- JSON
        request TEXT NOT NULL,
        identity TEXT NOT NULL,
        hosts TEXT NOT NULL,
        requested_at TEXT NOT NULL,
        state TEXT NOT NULL,
        phase TEXT NOT NULL,
        detail TEXT NOT NULL,
        ready_at TEXT,
        lost_at TEXT,
        withdrawn INTEGER NOT NULL,
        gone_at TEXT,
        PRIMARY KEY (job, generation)
    ) {strict}""",
    "CREATE INDEX slices_held ON slices (job, generation) WHERE gone_at IS NULL",
    """CREATE TABLE queues (
        id INTEGER PRIMARY KEY,
        path TEXT NOT NULL UNIQUE,
        folder TEXT NOT NULL UNIQUE,
        content_hash TEXT NOT NULL DEFAULT '',
        problem TEXT NOT NULL DEFAULT '',
        changes INTEGER NOT NULL DEFAULT 0,
        -- a v3 state file was taken over
        imported INTEGER NOT NULL DEFAULT 0
    ) {strict}""",
    """CREATE TABLE tasks (
        id INTEGER PRIMARY KEY,
        queue INTEGER NOT NULL REFERENCES queues (id),
        task TEXT NOT NULL,
        -- the entry of the file, as JSON
        spec TEXT NOT NULL,
        run_id TEXT NOT NULL,
        -- read off the entry, for the indexes
        position INTEGER NOT NULL,
        accelerator TEXT NOT NULL,
        -- empty: any
        zone TEXT NOT NULL,
        min_hosts INTEGER NOT NULL,
        max_jobs INTEGER NOT NULL,
        max_retries INTEGER NOT NULL,
        removed INTEGER NOT NULL DEFAULT 0,
        -- longest way to a task without dependencies
        depth INTEGER NOT NULL DEFAULT 0,
        done INTEGER NOT NULL DEFAULT 0,
        failed INTEGER NOT NULL DEFAULT 0,
        fail_count INTEGER NOT NULL DEFAULT 0,
        run_count INTEGER NOT NULL DEFAULT 0,
        running INTEGER NOT NULL DEFAULT 0,
        priority INTEGER NOT NULL DEFAULT 0,
        -- how its last failure looked
        failure TEXT NOT NULL DEFAULT '',
        -- what the policy said
        unmet INTEGER NOT NULL DEFAULT 0,
        root TEXT,
        ready INTEGER NOT NULL DEFAULT 0,
        rank INTEGER NOT NULL DEFAULT 0,
        UNIQUE (queue, task)
    ) {strict}""",
    "CREATE INDEX tasks_ready ON tasks (queue, accelerator, zone, rank) WHERE ready = 1",
    """CREATE INDEX tasks_open ON tasks (queue, accelerator, zone, ready)
        WHERE done = 0 AND failed = 0 AND removed = 0""",
    """CREATE TABLE dependencies (
        task INTEGER NOT NULL REFERENCES tasks (id),
        -- in the order of the entry
        number INTEGER NOT NULL,
        dependency INTEGER NOT NULL REFERENCES tasks (id),
        PRIMARY KEY (task, number)
    ) {strict}""",
    "CREATE INDEX dependencies_of ON dependencies (dependency, task)",
    """CREATE TABLE attempts (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        token TEXT NOT NULL UNIQUE,
        -- none for those that a v3 state file told of
        job INTEGER REFERENCES jobs (id),
        past_job TEXT,
        generation INTEGER NOT NULL,
        number INTEGER NOT NULL,
        run_id TEXT NOT NULL,
        task INTEGER REFERENCES tasks (id),
        mode TEXT NOT NULL,
        stage INTEGER NOT NULL,
        parent TEXT,
        -- JSON
        hosts TEXT NOT NULL DEFAULT '[]',
        code TEXT,
        claimed_at TEXT NOT NULL,
        started_at TEXT,
        end_cause TEXT,
        ended_at TEXT,
        outcome TEXT,
        cause TEXT,
        detail TEXT,
        -- JSON
        exits TEXT
    ) {strict}""",
    "CREATE INDEX attempts_job ON attempts (job, id)",
    "CREATE INDEX attempts_task ON attempts (task, id)",
    "CREATE UNIQUE INDEX attempts_live ON attempts (job) WHERE ended_at IS NULL",
    "CREATE INDEX attempts_live_task ON attempts (task) WHERE ended_at IS NULL",
    """CREATE TABLE events (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at TEXT NOT NULL,
        kind TEXT NOT NULL,
        text TEXT NOT NULL,
        job INTEGER,
        queue TEXT,
        task TEXT
    ) {strict}""",
    "CREATE INDEX events_job ON events (job, id) WHERE job IS NOT NULL",
)

#: What is known of places and zones, for all controllers of the home.
_VERSION_2: Final[Step] = (
    """CREATE TABLE stockouts (
        cloud TEXT NOT NULL,
        project TEXT NOT NULL,
        zone TEXT NOT NULL,
        accelerator TEXT NOT NULL,
        pricing TEXT NOT NULL,
        mode TEXT NOT NULL,
        at TEXT NOT NULL,
        reason TEXT NOT NULL,
        PRIMARY KEY (cloud, project, zone, accelerator, pricing, mode)
    ) {strict}""",
    """CREATE TABLE zones (
        id INTEGER PRIMARY KEY,
        cloud TEXT NOT NULL,
        project TEXT NOT NULL,
        name TEXT NOT NULL,
        -- this machine's monotonic clock; none: nobody has looked yet
        looked_at REAL,
        why TEXT NOT NULL DEFAULT '',
        changes INTEGER NOT NULL DEFAULT 0,
        -- who looks now
        claimed_by TEXT,
        claimed_at REAL,
        UNIQUE (cloud, project, name)
    ) {strict}""",
    """CREATE TABLE sightings (
        zone INTEGER NOT NULL REFERENCES zones (id),
        name TEXT NOT NULL,
        -- JSON
        seen TEXT NOT NULL,
        PRIMARY KEY (zone, name)
    ) {strict}""",
)

#: Who is told of what, and what those who tell remember between runs.
_VERSION_3: Final[Step] = (
    # JSON; empty: as the home's settings say
    "ALTER TABLE jobs ADD COLUMN notify TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE queues ADD COLUMN notify TEXT NOT NULL DEFAULT ''",
    """CREATE TABLE memory (
        who TEXT NOT NULL,
        key TEXT NOT NULL,
        -- JSON
        value TEXT NOT NULL,
        PRIMARY KEY (who, key)
    ) {strict}""",
    # What a task or a command came to with it: reports count these alone
    "ALTER TABLE attempts ADD COLUMN final INTEGER NOT NULL DEFAULT 0",
    "UPDATE attempts SET final = 1 WHERE outcome = 'succeeded'",
    "CREATE INDEX attempts_slice ON attempts (job, generation)",
    "CREATE INDEX attempts_ended ON attempts (ended_at) WHERE ended_at IS NOT NULL",
    "CREATE INDEX slices_gone ON slices (gone_at) WHERE gone_at IS NOT NULL",
    # Whoever tidies up looks at all zones where there ever was something
    """INSERT OR IGNORE INTO zones (cloud, project, name)
        SELECT DISTINCT json_extract(request, '$.cloud'),
            ifnull(json_extract(identity, '$.project'), ''), json_extract(identity, '$.zone')
        FROM slices""",
    "CREATE INDEX events_reaped ON events (at) WHERE kind = 'slice.reaped'",
)

#: Since when things are as they are, and what a list of jobs counts.
_VERSION_4: Final[Step] = (
    "ALTER TABLE jobs ADD COLUMN step_at TEXT",
    "ALTER TABLE jobs ADD COLUMN next_try TEXT",
    "ALTER TABLE jobs ADD COLUMN desired_at TEXT",
    "ALTER TABLE jobs ADD COLUMN ended_at TEXT",
    # Seconds, of attempts that ended
    "ALTER TABLE jobs ADD COLUMN ran REAL NOT NULL DEFAULT 0",
    """UPDATE jobs SET ended_at = (SELECT max(e.at) FROM events e
        WHERE e.job = jobs.id AND e.kind = 'job.' || lower(jobs.ending_kind))
        WHERE ending_kind IS NOT NULL""",
    """UPDATE jobs SET ran = ifnull((
        SELECT sum(max(0, (julianday(a.ended_at) - julianday(a.started_at)) * 86400.0))
        FROM attempts a
        WHERE a.job = jobs.id AND a.started_at IS NOT NULL AND a.ended_at IS NOT NULL), 0)""",
    # Of what is in the file; kept by the triggers alone
    "ALTER TABLE queues ADD COLUMN tasks INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE queues ADD COLUMN done INTEGER NOT NULL DEFAULT 0",
    """UPDATE queues SET (tasks, done) =
        (SELECT count(*), ifnull(sum(t.done), 0) FROM tasks t
        WHERE t.queue = queues.id AND t.removed = 0)""",
    """CREATE TRIGGER tasks_added AFTER INSERT ON tasks WHEN NEW.removed = 0 BEGIN
        UPDATE queues SET tasks = tasks + 1, done = done + NEW.done WHERE id = NEW.queue;
    END""",
    """CREATE TRIGGER tasks_changed AFTER UPDATE OF done, removed ON tasks
        WHEN OLD.done <> NEW.done OR OLD.removed <> NEW.removed BEGIN
        UPDATE queues SET tasks = tasks + OLD.removed - NEW.removed,
            done = done + NEW.done * (1 - NEW.removed) - OLD.done * (1 - OLD.removed)
        WHERE id = NEW.queue;
    END""",
)

STEPS: Final[Sequence[Step]] = (_VERSION_1, _VERSION_2, _VERSION_3, _VERSION_4)
