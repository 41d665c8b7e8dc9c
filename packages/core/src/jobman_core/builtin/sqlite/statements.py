"""Every statement of the store, by name; a test reads the query plans of the hot ones."""

from typing import Final

META: Final = "SELECT value FROM meta WHERE key = ?"
PUT_META: Final = "INSERT INTO meta (key, value) VALUES (?, ?)"

# -- jobs ------------------------------------------------------------------------------------------

INSERT_JOB: Final = """
    INSERT INTO jobs (id, user, name, base_name, accelerator, zone, cloud, session, queue,
        worker_num, run_id, created_at, desired, notify)
    VALUES (:id, :user, :name, :base_name, :accelerator, :zone, :cloud, :session, :queue,
        :worker_num, :run_id, :created_at, :desired, :notify)"""
NAME_JOB: Final = "UPDATE jobs SET name = ?, desired = 'stopped' WHERE id = ?"
JOB_OF_NAME: Final = """
    SELECT id FROM jobs WHERE name = ? AND desired NOT IN ('cancelled', 'deleted')"""
NAMES_LIKE: Final = """
    SELECT name FROM jobs
    WHERE name >= :low AND name < :high AND desired NOT IN ('cancelled', 'deleted')"""
PUBLISH_JOB: Final = """
    UPDATE jobs SET published = 1, spec_hash = ? WHERE id = ? AND published = 0"""
SET_PAST: Final = "UPDATE jobs SET created_at = ?, step_reason = ?, runs = ? WHERE id = ?"
DROP_DRAFTS: Final = "DELETE FROM jobs WHERE published = 0 AND created_at < ?"
DISCARD_JOB: Final = "DELETE FROM jobs WHERE id = ? AND published = 0"
ANY_JOB: Final = "SELECT * FROM jobs WHERE id = ?"
JOB: Final = "SELECT * FROM jobs WHERE id = ? AND published = 1"
JOB_IDS: Final = "SELECT id FROM jobs WHERE published = 1 ORDER BY id"
JOBS: Final = """
    SELECT * FROM jobs WHERE published = 1 AND (desired <> 'deleted' OR :deleted) ORDER BY id"""
SET_DESIRED: Final = """
    UPDATE jobs SET desired = :desired,
        desired_at = iif(desired = :desired AND desired_at IS NOT NULL, desired_at, :at)
    WHERE id = :id"""
SET_RUNNING: Final = """
    UPDATE jobs SET desired = 'running', ending_kind = NULL, ending_reason = NULL, ended_at = NULL,
        restarts = iif(desired = 'running' AND ending_kind IS NULL, restarts, 0),
        step = 'none', step_reason = '', step_at = :at, next_try = NULL, desired_at = :at
    WHERE id = :id"""
SET_SPEC: Final = """
    UPDATE jobs SET accelerator = ?, zone = ?, cloud = ?, session = ?, queue = ?, notify = ?,
        spec_hash = ?
    WHERE id = ?"""
AVOID: Final = "SELECT avoid_task FROM jobs WHERE id = ?"
SET_AVOID: Final = "UPDATE jobs SET avoid_task = ? WHERE id = ?"
SET_STEP: Final = """
    UPDATE jobs SET step = :step, step_reason = :reason, next_try = :until,
        step_at = iif(step = :step AND step_at IS NOT NULL, step_at, :at)
    WHERE id = :id"""
SET_ENDING: Final = """
    UPDATE jobs SET ending_kind = ?, ending_reason = ?, ended_at = ? WHERE id = ?"""
COUNT_RESTART: Final = "UPDATE jobs SET restarts = restarts + 1 WHERE id = ?"
ADD_RAN: Final = "UPDATE jobs SET ran = ran + ? WHERE id = ?"
COUNT_RUN: Final = "UPDATE jobs SET runs = runs + 1 WHERE id = ?"
NEXT_EPOCH: Final = "UPDATE jobs SET epoch = epoch + 1 WHERE id = ?"

# -- controllers and leases ------------------------------------------------------------------------

PUT_CONTROLLER: Final = """
    INSERT INTO controllers (id, machine, boot_id, pid, pid_start, beat)
    VALUES (:id, :machine, :boot_id, :pid, :pid_start, :beat)
    ON CONFLICT (id) DO UPDATE SET machine = excluded.machine, boot_id = excluded.boot_id,
        pid = excluded.pid, pid_start = excluded.pid_start, beat = excluded.beat"""
CONTROLLER: Final = "SELECT * FROM controllers WHERE id = ?"
BEAT: Final = "UPDATE controllers SET beat = ? WHERE id = ?"
RETIRE: Final = "DELETE FROM controllers WHERE id = ?"
LEASE: Final = "SELECT job, controller, epoch FROM leases WHERE job = ?"
PUT_LEASE: Final = """
    INSERT INTO leases (job, controller, epoch) VALUES (?, ?, ?)
    ON CONFLICT (job) DO UPDATE SET controller = excluded.controller, epoch = excluded.epoch"""
WISHES: Final = """
    SELECT l.job, l.epoch, j.desired FROM leases l JOIN jobs j ON j.id = l.job
    WHERE l.controller = ?"""
WISHED_ENDS: Final = """
    SELECT a.job, a.token, a.end_cause FROM leases l
    CROSS JOIN attempts a INDEXED BY attempts_live ON a.job = l.job AND a.ended_at IS NULL
    WHERE l.controller = ? AND a.end_cause IS NOT NULL"""
DROP_LEASE: Final = "DELETE FROM leases WHERE job = ? AND controller = ? AND epoch = ?"
HOLDER: Final = """
    SELECT l.job, l.epoch, c.* FROM leases l JOIN controllers c ON c.id = l.controller
    WHERE l.job = ?"""
HOLDERS: Final = """
    SELECT l.job, l.epoch, c.* FROM leases l JOIN controllers c ON c.id = l.controller"""

# -- slices ----------------------------------------------------------------------------------------

INSERT_SLICE: Final = """
    INSERT INTO slices (job, generation, request, identity, hosts, requested_at, state, phase,
        detail, ready_at, lost_at, withdrawn, gone_at)
    VALUES (:job, :generation, :request, :identity, :hosts, :requested_at, :state, :phase,
        :detail, :ready_at, :lost_at, :withdrawn, :gone_at)"""
UPDATE_SLICE: Final = """
    UPDATE slices SET request = :request, identity = :identity, hosts = :hosts,
        requested_at = :requested_at, state = :state, phase = :phase, detail = :detail,
        ready_at = :ready_at, lost_at = :lost_at, gone_at = :gone_at,
        withdrawn = MAX(withdrawn, :withdrawn)
    WHERE job = :job AND generation = :generation"""
SLICE: Final = "SELECT * FROM slices WHERE job = ? AND generation = ?"
SLICES: Final = "SELECT * FROM slices WHERE job = ? ORDER BY generation"
UNWITHDRAWN: Final = """
    SELECT generation FROM slices
    WHERE job = ? AND gone_at IS NULL AND withdrawn = 0 ORDER BY generation LIMIT 1"""
WITHDRAWING: Final = """
    SELECT * FROM slices WHERE job = ? AND gone_at IS NULL AND withdrawn = 1 ORDER BY generation"""
ALL_WITHDRAWING: Final = """
    SELECT * FROM slices INDEXED BY slices_held
    WHERE gone_at IS NULL AND withdrawn = 1 ORDER BY job, generation"""
NEWEST_SLICES: Final = """
    SELECT s.* FROM jobs j JOIN slices s ON s.job = j.id AND s.generation = j.generation
    WHERE j.published = 1 AND (j.desired <> 'deleted' OR :deleted)"""
WITHDRAW: Final = "UPDATE slices SET withdrawn = 1 WHERE job = ? AND gone_at IS NULL"
NEW_GENERATION: Final = """
    UPDATE jobs SET generation = ?, recoveries = recoveries + ? WHERE id = ?"""

# -- places and zones ------------------------------------------------------------------------------

STOCKOUT: Final = """
    SELECT at, reason FROM stockouts
    WHERE cloud = :cloud AND project = :project AND zone = :zone AND accelerator = :accelerator
        AND pricing = :pricing AND mode = :mode"""
PUT_STOCKOUT: Final = """
    INSERT OR REPLACE INTO stockouts
        (cloud, project, zone, accelerator, pricing, mode, at, reason)
    VALUES (:cloud, :project, :zone, :accelerator, :pricing, :mode, :at, :reason)"""
DROP_STOCKOUT: Final = """
    DELETE FROM stockouts
    WHERE cloud = :cloud AND project = :project AND zone = :zone AND accelerator = :accelerator
        AND pricing = :pricing AND mode = :mode"""
INSERT_ZONE: Final = """
    INSERT OR IGNORE INTO zones (cloud, project, name) VALUES (:cloud, :project, :name)"""
ZONES: Final = "SELECT cloud, project, name FROM zones ORDER BY cloud, project, name"
ZONE: Final = """
    SELECT * FROM zones WHERE cloud = :cloud AND project = :project AND name = :name"""
DROP_CLAIMS: Final = "UPDATE zones SET claimed_by = NULL, claimed_at = NULL WHERE claimed_by = ?"
CLAIM_LOOK: Final = "UPDATE zones SET claimed_by = ?, claimed_at = ? WHERE id = ?"
SAVE_LOOK: Final = """
    UPDATE zones SET looked_at = ?, why = ?, changes = ?, claimed_by = NULL, claimed_at = NULL
    WHERE id = ?"""
SIGHTINGS: Final = "SELECT name, seen FROM sightings WHERE zone = ?"
PUT_SIGHTING: Final = "INSERT OR REPLACE INTO sightings (zone, name, seen) VALUES (?, ?, ?)"
DROP_SIGHTING: Final = "DELETE FROM sightings WHERE zone = ? AND name = ?"

# -- attempts --------------------------------------------------------------------------------------

_ATTEMPTS: Final = """
    SELECT a.*, t.task AS task_name, q.path AS queue_path
    FROM attempts a LEFT JOIN tasks t ON t.id = a.task LEFT JOIN queues q ON q.id = t.queue"""
INSERT_ATTEMPT: Final = """
    INSERT INTO attempts (token, job, generation, number, run_id, task, mode, stage, claimed_at)
    VALUES (:token, :job, :generation, :number, :run_id, :task, :mode, :stage, :claimed_at)"""
INSERT_PAST: Final = """
    INSERT INTO attempts (token, job, past_job, generation, number, run_id, task, mode, stage,
        claimed_at, started_at, ended_at, outcome, cause, detail, exits)
    VALUES (:token, :job, :past_job, 0, :number, :run_id, :task, 'fresh', 0,
        :claimed_at, :started_at, :ended_at, :outcome, :cause, '', '[]')"""
ATTEMPT: Final = _ATTEMPTS + " WHERE a.token = ?"
LIVE_ATTEMPT: Final = "SELECT token FROM attempts WHERE job = ? AND ended_at IS NULL"
LIVE_ATTEMPTS: Final = _ATTEMPTS + " WHERE a.job = ? AND a.ended_at IS NULL ORDER BY a.id"
ALL_LIVE_ATTEMPTS: Final = (
    _ATTEMPTS.replace("attempts a", "attempts a INDEXED BY attempts_live")
    + " WHERE a.ended_at IS NULL"
)
ATTEMPTS_OF_JOB: Final = _ATTEMPTS + " WHERE a.job = ? ORDER BY a.id"
ATTEMPTS_OF_TASK: Final = _ATTEMPTS + " WHERE q.path = ? AND t.task = ? ORDER BY a.id"
_IN_QUEUE: Final = " WHERE t.queue = (SELECT id FROM queues WHERE path = ?)"
ATTEMPTS_OF_QUEUE: Final = (
    _ATTEMPTS.replace("LEFT JOIN tasks", "JOIN tasks") + _IN_QUEUE + " ORDER BY a.id"
)
SAVE_ATTEMPT: Final = """
    UPDATE attempts SET hosts = ?, code = ?, started_at = ? WHERE token = ? AND ended_at IS NULL"""
ASK_END: Final = "UPDATE attempts SET end_cause = ? WHERE token = ?"
END_ATTEMPT: Final = """
    UPDATE attempts SET ended_at = ?, outcome = ?, cause = ?, detail = ?, exits = ?
    WHERE token = ?"""
SET_FINAL: Final = "UPDATE attempts SET final = 1 WHERE token = ?"

# -- queues and tasks ------------------------------------------------------------------------------

INSERT_QUEUE: Final = "INSERT INTO queues (path, folder) VALUES (?, ?)"
QUEUE: Final = "SELECT * FROM queues WHERE path = ?"
QUEUES: Final = "SELECT * FROM queues ORDER BY id"
CHANGES: Final = "SELECT path, changes FROM queues"
FOLDERS: Final = "SELECT folder FROM queues"
SET_PROBLEM: Final = "UPDATE queues SET problem = ? WHERE id = ?"
DEFINED: Final = "UPDATE queues SET content_hash = ?, notify = ?, problem = '' WHERE id = ?"
CHANGED: Final = "UPDATE queues SET changes = changes + 1 WHERE id = ?"
IMPORTED: Final = "UPDATE queues SET imported = 1 WHERE id = ?"
HAS_ATTEMPTS: Final = """
    SELECT 1 FROM tasks t JOIN attempts a ON a.task = t.id WHERE t.queue = ? LIMIT 1"""

PICK: Final = """
    SELECT * FROM tasks
    WHERE queue = :queue AND accelerator = :accelerator AND zone = :zone AND ready = 1
        AND min_hosts <= :hosts
    ORDER BY rank LIMIT :most"""
TASK_BY_ID: Final = "SELECT * FROM tasks WHERE id = ?"
TASK: Final = "SELECT * FROM tasks WHERE queue = ? AND task = ?"
TASKS: Final = """
    SELECT * FROM tasks WHERE queue = ? AND (removed = 0 OR running > 0)
    ORDER BY removed, position"""
ALL_TASKS: Final = "SELECT * FROM tasks WHERE queue = ?"
RUNNING_IN_QUEUE: Final = """
    SELECT a.task, a.job, a.token, a.claimed_at, a.started_at
    FROM attempts a INDEXED BY attempts_live_task JOIN tasks t ON t.id = a.task
    WHERE a.ended_at IS NULL AND t.queue = ? ORDER BY a.id"""
RUNNING_TASK: Final = """
    SELECT task, job, token, claimed_at, started_at FROM attempts
    WHERE task = ? AND ended_at IS NULL ORDER BY id"""
UNMET: Final = """
    SELECT t.task FROM dependencies d JOIN tasks t ON t.id = d.dependency
    WHERE d.task = ? AND t.done = 0 ORDER BY d.number"""
DEPENDENCIES: Final = """
    SELECT t.task, t.done, t.failed, t.root FROM dependencies d JOIN tasks t ON t.id = d.dependency
    WHERE d.task = ? ORDER BY d.number"""
TASK_NUMBERS: Final = "SELECT id, task FROM tasks WHERE queue = ? AND removed = 0"
ALL_DEPENDENCIES: Final = """
    SELECT d.task, d.dependency FROM tasks t JOIN dependencies d ON d.task = t.id
    WHERE t.queue = ? ORDER BY d.task, d.number"""
DEPENDANTS: Final = """
    SELECT t.* FROM dependencies d JOIN tasks t ON t.id = d.task WHERE d.dependency = ?"""
DEMAND: Final = """
    SELECT accelerator, zone, SUM(ready) AS ready, COUNT(*) AS open FROM tasks
    WHERE queue = ? AND done = 0 AND failed = 0 AND removed = 0
    GROUP BY accelerator, zone"""
# What a task's status depends on, and how many have the same of it.
TALLY: Final = """
    SELECT done, failed, running > 0 AS running, root IS NOT NULL AS blocked, unmet > 0 AS waits,
        fail_count > 0 AS fail_count, COUNT(*) AS tasks
    FROM tasks WHERE queue = ? AND (removed = 0 OR running > 0)
    GROUP BY 1, 2, 3, 4, 5, 6"""
FOREMOST: Final = """
    SELECT * FROM tasks WHERE queue = ? AND done = 0 AND (removed = 0 OR running > 0)
    ORDER BY running > 0 DESC, failed DESC, ready DESC, rank, position LIMIT ?"""
INSERT_TASK: Final = """
    INSERT INTO tasks (queue, task, spec, run_id, position, accelerator, zone, min_hosts, max_jobs,
        max_retries, removed)
    VALUES (:queue, :task, :spec, :run_id, :position, :accelerator, :zone, :min_hosts, :max_jobs,
        :max_retries, :removed)"""
UPDATE_ENTRY: Final = """
    UPDATE tasks SET spec = :spec, position = :position, accelerator = :accelerator, zone = :zone,
        min_hosts = :min_hosts, max_jobs = :max_jobs, max_retries = :max_retries,
        removed = :removed
    WHERE id = :id"""
MOVE_TASK: Final = "UPDATE tasks SET position = ? WHERE id = ?"
REMOVE_TASK: Final = "UPDATE tasks SET removed = 1 WHERE id = ?"
DROP_DEPENDENCIES: Final = "DELETE FROM dependencies WHERE task = ?"
INSERT_DEPENDENCY: Final = "INSERT INTO dependencies (task, number, dependency) VALUES (?, ?, ?)"
SET_COUNTERS: Final = """
    UPDATE tasks SET done = :done, failed = :failed, fail_count = :fail_count,
        run_count = :run_count, running = :running, priority = :priority, ready = :ready,
        rank = :rank, failure = :failure, run_id = :run_id
    WHERE id = :id"""
# What was done was not blocked: that it is now has to be told.
RESET_TASK: Final = """
    UPDATE tasks SET done = ?, failed = ?, fail_count = ?, failure = '', run_id = ?,
        root = CASE WHEN done THEN NULL ELSE root END
    WHERE id = ?"""
SET_UNMET: Final = "UPDATE tasks SET unmet = ?, ready = ? WHERE id = ?"
SET_ROOT: Final = "UPDATE tasks SET root = ? WHERE id = ?"
SET_STANDING: Final = """
    UPDATE tasks SET depth = ?, failed = ?, unmet = ?, root = ?, ready = ?, rank = ? WHERE id = ?"""
IMPORT_COUNTERS: Final = """
    UPDATE tasks SET done = ?, failed = ?, fail_count = ?, run_count = ?, priority = ?
    WHERE id = ?"""
HISTORY: Final = """
    SELECT t.task, a.job, a.past_job, a.claimed_at, a.started_at, a.ended_at, a.outcome, a.cause
    FROM tasks t JOIN attempts a ON a.task = t.id
    WHERE t.queue = ? AND a.ended_at IS NOT NULL ORDER BY t.id, a.id"""

# -- reports ---------------------------------------------------------------------------------------

_LIVES: Final = """
    SELECT s.job, s.generation, s.request, s.requested_at, s.ready_at, s.lost_at, s.gone_at,
        j.name, j.user, j.step = 'prepare' AND j.generation = s.generation AS preparing,
        (SELECT a.claimed_at FROM attempts a
            WHERE a.job = s.job AND a.generation = s.generation
            ORDER BY a.id LIMIT 1) AS began_at,
        CASE WHEN s.lost_at >= :since AND s.lost_at < :until THEN
            (SELECT a.started_at FROM attempts a
                WHERE a.job = s.job AND a.generation > s.generation AND a.started_at IS NOT NULL
                ORDER BY a.generation, a.id LIMIT 1) END AS resumed_at
    FROM slices s {index} CROSS JOIN jobs j ON j.id = s.job
    WHERE s.requested_at < :until AND """
HELD_LIVES: Final = _LIVES.format(index="INDEXED BY slices_held") + "s.gone_at IS NULL"
GONE_LIVES: Final = _LIVES.format(index="INDEXED BY slices_gone") + "s.gone_at >= :since"
_RUNS: Final = """
    SELECT a.job, a.generation, j.name, j.user, j.accelerator, q.path, t.task,
        a.claimed_at, a.started_at, a.ended_at, a.outcome, a.final
    FROM attempts a {index} CROSS JOIN jobs j ON j.id = a.job
        LEFT JOIN tasks t ON t.id = a.task LEFT JOIN queues q ON q.id = t.queue
    WHERE a.claimed_at < :until AND """
LIVE_RUNS: Final = _RUNS.format(index="INDEXED BY attempts_live") + "a.ended_at IS NULL"
ENDED_RUNS: Final = _RUNS.format(index="INDEXED BY attempts_ended") + "a.ended_at >= :since"
REAPED: Final = """
    SELECT * FROM events WHERE kind = 'slice.reaped' AND at >= :since AND at < :until ORDER BY id"""

# -- memory ----------------------------------------------------------------------------------------

REMEMBER: Final = """
    INSERT INTO memory (who, key, value) VALUES (?, ?, ?)
    ON CONFLICT (who, key) DO UPDATE SET value = excluded.value"""
FORGET: Final = "DELETE FROM memory WHERE who = ? AND key = ?"
RECALL: Final = """
    SELECT key, value FROM memory WHERE who = ? AND substr(key, 1, length(?)) = ? ORDER BY key"""

# -- events ----------------------------------------------------------------------------------------

INSERT_EVENT: Final = """
    INSERT INTO events (at, kind, text, job, queue, task) VALUES (?, ?, ?, ?, ?, ?)"""
EVENTS: Final = "SELECT * FROM events WHERE id > ? ORDER BY id LIMIT ?"
EVENTS_OF_JOB: Final = "SELECT * FROM events WHERE job = ? AND id > ? ORDER BY id LIMIT ?"
NEWEST_EVENTS: Final = "SELECT * FROM events WHERE id > 0 ORDER BY id DESC LIMIT ?"
NEWEST_OF_JOB: Final = "SELECT * FROM events WHERE job = ? ORDER BY id DESC LIMIT ?"
