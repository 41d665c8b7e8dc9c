-- A home's database as the fourth schema had it. It is never edited: what it holds must load.
BEGIN TRANSACTION;
CREATE TABLE attempts (
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
    , final INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "attempts" VALUES(1,'550d7daddbefca2e2a47da269629d7f5',1,NULL,1,1,'e59ab10a925d839bb9fcee8eee6b34ed',1,'fresh',0,NULL,'[]',NULL,'2026-01-01T12:01:00.000000+00:00',NULL,NULL,'2026-01-01T12:02:00.000000+00:00','succeeded','exited','','[[0,0,""],[1,0,""]]',1);
INSERT INTO "attempts" VALUES(2,'bac7b5ff8822d4f7bd17acfb3a6211a2',1,NULL,1,1,'f185aff512e189db4bbd93079d20d7ef',2,'fresh',0,NULL,'[]',NULL,'2026-01-01T12:03:00.000000+00:00',NULL,NULL,'2026-01-01T12:04:00.000000+00:00','failed','exited','','[[1,3,"boom"],[0,null,""]]',0);
INSERT INTO "attempts" VALUES(3,'8cd80fb22e482e90efdb8b680d6bfb4b',1,NULL,1,2,'f185aff512e189db4bbd93079d20d7ef',2,'fresh',0,NULL,'[]',NULL,'2026-01-01T12:05:00.000000+00:00',NULL,NULL,'2026-01-01T12:06:00.000000+00:00','failed','exited','','[[1,3,"boom"],[0,null,""]]',1);
INSERT INTO "attempts" VALUES(4,'e14a63b8baef5ff9f0cf3fe443246cec',1,NULL,1,1,'63b9b84a0b5cdf9bcdea10c467eadee7',5,'fresh',0,NULL,'[]',NULL,'2026-01-01T12:07:00.000000+00:00',NULL,NULL,'2026-01-01T12:08:00.000000+00:00','interrupted','preempted','','[]',0);
INSERT INTO "attempts" VALUES(5,'731dc3faad22e1dc6c7a8d5463f609c1',1,NULL,1,2,'63b9b84a0b5cdf9bcdea10c467eadee7',5,'fresh',0,NULL,'[0,1]','0123abc','2026-01-01T12:09:00.000000+00:00','2026-01-01T12:00:00.000000+00:00',NULL,NULL,NULL,NULL,NULL,NULL,0);
INSERT INTO "attempts" VALUES(6,'cee9d46839f7e1efae51a1d1bf282da1',2,NULL,1,1,'defc6900058797b4ebf7d881204f3ab7',NULL,'fresh',0,NULL,'[]',NULL,'2026-01-01T12:00:00.000000+00:00',NULL,NULL,'2026-01-01T12:00:00.000000+00:00','succeeded','exited','','[[0,0,""],[1,0,""]]',1);
INSERT INTO "attempts" VALUES(7,'a985ed6acb4f1cc2ba116d863ae6b947',NULL,'000042',0,1,'',7,'fresh',0,NULL,'[]',NULL,'2026-01-01T12:00:00.000000+00:00','2026-01-01T12:00:00.000000+00:00',NULL,'2026-01-01T12:00:00.000000+00:00','succeeded','exited','','[]',1);
CREATE TABLE controllers (
        id TEXT PRIMARY KEY,
        machine TEXT NOT NULL,
        boot_id TEXT NOT NULL,
        pid INTEGER NOT NULL,
        pid_start INTEGER NOT NULL,
        beat REAL NOT NULL
    ) STRICT;
INSERT INTO "controllers" VALUES('controller-000001-1','machine','boot',4711,99,1000.0);
INSERT INTO "controllers" VALUES('controller-000002-2','machine','boot',4711,99,1000.0);
CREATE TABLE dependencies (
        task INTEGER NOT NULL REFERENCES tasks (id),
        -- in the order of the entry
        number INTEGER NOT NULL,
        dependency INTEGER NOT NULL REFERENCES tasks (id),
        PRIMARY KEY (task, number)
    ) STRICT;
INSERT INTO "dependencies" VALUES(2,0,1);
INSERT INTO "dependencies" VALUES(3,0,2);
CREATE TABLE events (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at TEXT NOT NULL,
        kind TEXT NOT NULL,
        text TEXT NOT NULL,
        job INTEGER,
        queue TEXT,
        task TEXT
    ) STRICT;
INSERT INTO "events" VALUES(1,'2026-01-01T00:00:00.000000+00:00','queue.opened','queue /home/lab/tasks.yaml opened',NULL,'/home/lab/tasks.yaml',NULL);
INSERT INTO "events" VALUES(2,'2026-01-01T00:00:00.000000+00:00','queue.defined','tasks of /home/lab/tasks.yaml: 6 added (a, b, c, d, e, …)',NULL,'/home/lab/tasks.yaml',NULL);
INSERT INTO "events" VALUES(3,'2026-01-01T00:00:00.000000+00:00','job.created','job 000001 (worker_000001) created by ada: v4-16 in us-central2-b',1,NULL,NULL);
INSERT INTO "events" VALUES(4,'2026-01-01T00:00:00.000000+00:00','job.started','ada starts it',1,NULL,NULL);
INSERT INTO "events" VALUES(5,'2026-01-01T00:00:00.000000+00:00','slice.requested','asked for',1,NULL,NULL);
INSERT INTO "events" VALUES(6,'2026-01-01T00:00:00.000000+00:00','slice.lost','lost',1,NULL,NULL);
INSERT INTO "events" VALUES(7,'2026-01-01T00:00:00.000000+00:00','slice.gone','gone',1,NULL,NULL);
INSERT INTO "events" VALUES(8,'2026-01-01T00:00:00.000000+00:00','slice.requested','asked for',1,NULL,NULL);
INSERT INTO "events" VALUES(9,'2026-01-01T12:01:00.000000+00:00','task.claimed','job 000001 took task a (run 1)',1,'/home/lab/tasks.yaml','a');
INSERT INTO "events" VALUES(10,'2026-01-01T12:02:00.000000+00:00','task.succeeded','task a (run 1) succeeded on job 000001',1,'/home/lab/tasks.yaml','a');
INSERT INTO "events" VALUES(11,'2026-01-01T12:03:00.000000+00:00','task.claimed','job 000001 took task b (run 1)',1,'/home/lab/tasks.yaml','b');
INSERT INTO "events" VALUES(12,'2026-01-01T12:04:00.000000+00:00','task.failed','task b (run 1) failed on job 000001: exit 3 on host 1 (failed 1 of 2 attempts, will be tried again)',1,'/home/lab/tasks.yaml','b');
INSERT INTO "events" VALUES(13,'2026-01-01T12:05:00.000000+00:00','task.claimed','job 000001 took task b (run 2)',1,'/home/lab/tasks.yaml','b');
INSERT INTO "events" VALUES(14,'2026-01-01T12:06:00.000000+00:00','task.failed','task b (run 2) failed on job 000001: exit 3 on host 1 (failed 2 of 2 attempts, for good)',1,'/home/lab/tasks.yaml','b');
INSERT INTO "events" VALUES(15,'2026-01-01T12:06:00.000000+00:00','task.blocked','task c is blocked: b, which it depends on, failed for good',NULL,'/home/lab/tasks.yaml','c');
INSERT INTO "events" VALUES(16,'2026-01-01T12:07:00.000000+00:00','task.claimed','job 000001 took task e (run 1)',1,'/home/lab/tasks.yaml','e');
INSERT INTO "events" VALUES(17,'2026-01-01T12:08:00.000000+00:00','task.interrupted','task e (run 1) was interrupted on job 000001: preempted',1,'/home/lab/tasks.yaml','e');
INSERT INTO "events" VALUES(18,'2026-01-01T12:09:00.000000+00:00','task.claimed','job 000001 took task e (run 2)',1,'/home/lab/tasks.yaml','e');
INSERT INTO "events" VALUES(19,'2026-01-01T00:00:00.000000+00:00','attempt.started','task e (run 2) started on job 000001, hosts 0, 1',1,'/home/lab/tasks.yaml','e');
INSERT INTO "events" VALUES(20,'2026-01-01T00:00:00.000000+00:00','job.created','job 000002 (worker_000002) created by ada: v4-16 in us-central2-b',2,NULL,NULL);
INSERT INTO "events" VALUES(21,'2026-01-01T00:00:00.000000+00:00','job.started','ada starts it',2,NULL,NULL);
INSERT INTO "events" VALUES(22,'2026-01-01T12:00:00.000000+00:00','attempt.opened','job 000002 begins run 1 of its command',2,NULL,NULL);
INSERT INTO "events" VALUES(23,'2026-01-01T12:00:00.000000+00:00','attempt.succeeded','run 1 of the command succeeded on job 000002',2,NULL,NULL);
INSERT INTO "events" VALUES(24,'2026-01-01T12:00:00.000000+00:00','job.done','job 000002 is DONE: its command succeeded',2,NULL,NULL);
INSERT INTO "events" VALUES(25,'2026-01-01T00:00:00.000000+00:00','job.created','job 000003 (worker_000003) created by ada: v4-16 in us-central2-b',3,NULL,NULL);
INSERT INTO "events" VALUES(26,'2026-01-01T00:00:00.000000+00:00','job.desired','cancelled',3,NULL,NULL);
INSERT INTO "events" VALUES(27,'2026-01-01T00:00:00.000000+00:00','job.created','job 000004 (worker_000004) created by ada: v4-16 in us-central2-b',4,NULL,NULL);
INSERT INTO "events" VALUES(28,'2026-01-01T00:00:00.000000+00:00','job.deleted','bob deletes it',4,NULL,NULL);
INSERT INTO "events" VALUES(29,'2026-01-01T00:00:00.000000+00:00','queue.opened','queue /home/lab/old.yaml opened',NULL,'/home/lab/old.yaml',NULL);
INSERT INTO "events" VALUES(30,'2026-01-01T00:00:00.000000+00:00','queue.imported','took over the state that jobman v3 left of 1 tasks',NULL,'/home/lab/old.yaml',NULL);
INSERT INTO "events" VALUES(31,'2026-01-01T00:00:00.000000+00:00','queue.defined','tasks of /home/lab/old.yaml: 1 added (z)',NULL,'/home/lab/old.yaml',NULL);
INSERT INTO "events" VALUES(32,'2026-01-01T00:00:00.000000+00:00','queue.problem','/home/lab/old.yaml is missing: put it back',NULL,'/home/lab/old.yaml',NULL);
CREATE TABLE jobs (
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
    , notify TEXT NOT NULL DEFAULT '', step_at TEXT, next_try TEXT, desired_at TEXT, ended_at TEXT, ran REAL NOT NULL DEFAULT 0) STRICT;
INSERT INTO "jobs" VALUES(1,'ada','worker_000001','worker','v4-16','us-central2-b','local','process','/home/lab/tasks.yaml',NULL,'856596023c9ff3eced284f7421030df5','2026-01-01T00:00:00.000000+00:00',1,'hash','running','execute','host 1 is silent',NULL,NULL,0,1,NULL,2,1,0,'','2026-01-01T12:00:00.000000+00:00','2026-01-01T12:00:40.000000+00:00',NULL,NULL,0.0);
INSERT INTO "jobs" VALUES(2,'ada','worker_000002','worker','v4-16','us-central2-b','local','process',NULL,NULL,'defc6900058797b4ebf7d881204f3ab7','2026-01-01T00:00:00.000000+00:00',1,'hash','running','none','','DONE','its command succeeded',0,0,NULL,0,1,1,'',NULL,NULL,NULL,'2026-01-01T12:00:00.000000+00:00',0.0);
INSERT INTO "jobs" VALUES(3,'ada','worker_000003','worker','v4-16','us-central2-b','local','process',NULL,NULL,'790bc4865582c789d71fbfc73b02a798','2026-01-01T00:00:00.000000+00:00',1,'hash','cancelled','none','',NULL,NULL,0,0,NULL,0,0,0,'',NULL,NULL,NULL,NULL,0.0);
INSERT INTO "jobs" VALUES(4,'ada','worker_000004','worker','v4-16','us-central2-b','local','process',NULL,NULL,'eecda1a5332c14e3920e509950ab72a0','2026-01-01T00:00:00.000000+00:00',1,'hash','deleted','none','',NULL,NULL,0,0,NULL,0,0,0,'',NULL,NULL,NULL,NULL,0.0);
INSERT INTO "jobs" VALUES(5,'ada','worker_7','worker','v4-16','us-central2-b','local','process',NULL,'7','340572f81ed9a1d7ed6a769a8503e74d','2026-01-01T00:00:00.000000+00:00',0,'','stopped','none','',NULL,NULL,0,0,NULL,0,0,0,'',NULL,NULL,NULL,NULL,0.0);
CREATE TABLE leases (
        job INTEGER PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
        controller TEXT NOT NULL REFERENCES controllers (id) ON DELETE CASCADE,
        epoch INTEGER NOT NULL
    ) STRICT;
INSERT INTO "leases" VALUES(1,'controller-000001-1',1);
INSERT INTO "leases" VALUES(2,'controller-000002-2',1);
CREATE TABLE memory (
        who TEXT NOT NULL,
        key TEXT NOT NULL,
        -- JSON
        value TEXT NOT NULL,
        PRIMARY KEY (who, key)
    ) STRICT;
INSERT INTO "memory" VALUES('slack','cursor','7');
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
INSERT INTO "meta" VALUES('home_id','42044f84-c46f-4815-b361-f174d8be43b1');
CREATE TABLE queues (
        id INTEGER PRIMARY KEY,
        path TEXT NOT NULL UNIQUE,
        folder TEXT NOT NULL UNIQUE,
        content_hash TEXT NOT NULL DEFAULT '',
        problem TEXT NOT NULL DEFAULT '',
        changes INTEGER NOT NULL DEFAULT 0,
        -- a v3 state file was taken over
        imported INTEGER NOT NULL DEFAULT 0
    , notify TEXT NOT NULL DEFAULT '', tasks INTEGER NOT NULL DEFAULT 0, done INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "queues" VALUES(1,'/home/lab/tasks.yaml','','hash of [''a'', ''b'', ''c'', ''d'', ''e'', ''f'']','',10,0,'',6,1);
INSERT INTO "queues" VALUES(2,'/home/lab/old.yaml','@old','hash','/home/lab/old.yaml is missing: put it back',2,1,'',1,1);
CREATE TABLE sightings (
        zone INTEGER NOT NULL REFERENCES zones (id),
        name TEXT NOT NULL,
        -- JSON
        seen TEXT NOT NULL,
        PRIMARY KEY (zone, name)
    );
INSERT INTO "sightings" VALUES(1,'worker-000001-g2','{"phase":"ready","state":"READY","hosts":[[0,"10.0.0.1",null]],"labels":{"jobman-job":"000001"},"detail":"","refusal":null}');
CREATE TABLE slices (
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
    ) STRICT;
INSERT INTO "slices" VALUES(1,1,'{"cloud":"local","accelerator":"v4-16","zone":"us-central2-b","pricing":"ondemand","mode":"tpu-vm","runtime":"","options":{"tags":["a"],"hosts":null}}','{"name":"tpu-000001-g1","zone":"us-central2-b","home":"home","owner":"ada","job":"000001","generation":1}','[[0,"10.0.0.1"],[1,null]]','2026-01-01T12:00:00.000000+00:00','PREEMPTED','lost','','2026-01-01T12:00:00.000000+00:00','2026-01-01T12:00:00.000000+00:00',0,'2026-01-01T12:00:00.000000+00:00');
INSERT INTO "slices" VALUES(1,2,'{"cloud":"local","accelerator":"v4-16","zone":"us-central2-b","pricing":"ondemand","mode":"tpu-vm","runtime":"","options":{"tags":["a"],"hosts":null}}','{"name":"tpu-000001-g2","zone":"us-central2-b","home":"home","owner":"ada","job":"000001","generation":2}','[[0,"10.0.0.1"],[1,null]]','2026-01-01T12:00:00.000000+00:00','READY','ready','','2026-01-01T12:00:00.000000+00:00',NULL,0,NULL);
CREATE TABLE stockouts (
        cloud TEXT NOT NULL,
        project TEXT NOT NULL,
        zone TEXT NOT NULL,
        accelerator TEXT NOT NULL,
        pricing TEXT NOT NULL,
        mode TEXT NOT NULL,
        at TEXT NOT NULL,
        reason TEXT NOT NULL,
        PRIMARY KEY (cloud, project, zone, accelerator, pricing, mode)
    );
INSERT INTO "stockouts" VALUES('gcp','lab','us-central2-b','v4-8','spot','tpu-vm','2026-01-01T12:00:00.000000+00:00','no more capacity');
CREATE TABLE tasks (
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
    ) STRICT;
INSERT INTO "tasks" VALUES(1,1,'a','{"id":"a","run":"true","accelerator":"v4-16","zone":null,"repo":null,"workdir":null,"env":null,"max_jobs":1,"max_retries":3,"depends_on":[],"workers":{"indices":[0]},"hide":false}','e59ab10a925d839bb9fcee8eee6b34ed',0,'v4-16','',1,1,3,0,0,1,0,0,1,0,0,'',0,NULL,0,0);
INSERT INTO "tasks" VALUES(2,1,'b','{"id":"b","run":"true","accelerator":"v4-16","zone":null,"repo":null,"workdir":null,"env":null,"max_jobs":1,"max_retries":2,"depends_on":["a"],"workers":{"indices":[0]},"hide":false}','f185aff512e189db4bbd93079d20d7ef',1,'v4-16','',1,1,2,0,1,0,1,2,2,0,0,'exit 3 on host 1',0,NULL,0,1);
INSERT INTO "tasks" VALUES(3,1,'c','{"id":"c","run":"true","accelerator":"v4-16","zone":null,"repo":null,"workdir":null,"env":null,"max_jobs":1,"max_retries":3,"depends_on":["b"],"workers":{"indices":[0]},"hide":false}','c803780c38873eebce95c5250bb842aa',2,'v4-16','',1,1,3,0,2,0,0,0,0,0,0,'',1,'b',0,2);
INSERT INTO "tasks" VALUES(4,1,'d','{"id":"d","run":"true","accelerator":"v4-16","zone":"elsewhere","repo":null,"workdir":null,"env":null,"max_jobs":1,"max_retries":3,"depends_on":[],"workers":{"indices":[0]},"hide":false}','cc7c5f95e6298eeed5254df675c00a12',3,'v4-16','elsewhere',1,1,3,0,0,0,0,0,0,0,0,'',0,NULL,1,3);
INSERT INTO "tasks" VALUES(5,1,'e','{"id":"e","run":"true","accelerator":"v4-16","zone":null,"repo":null,"workdir":null,"env":null,"max_jobs":2,"max_retries":3,"depends_on":[],"workers":{"indices":[0]},"hide":true}','63b9b84a0b5cdf9bcdea10c467eadee7',4,'v4-16','',1,2,3,0,0,0,0,0,2,1,0,'',0,NULL,1,4);
INSERT INTO "tasks" VALUES(6,1,'f','{"id":"f","run":"true","accelerator":"v4-16","zone":null,"repo":null,"workdir":null,"env":null,"max_jobs":1,"max_retries":3,"depends_on":[],"workers":{"indices":[0]},"hide":false}','88aba66a2646b8ce933e3ec3b78d0e0e',5,'v4-16','',1,1,3,0,0,0,0,0,0,0,0,'',0,NULL,1,5);
INSERT INTO "tasks" VALUES(7,2,'z','{"id":"z","run":"true","accelerator":"v4-16","zone":null,"repo":null,"workdir":null,"env":null,"max_jobs":1,"max_retries":3,"depends_on":[],"workers":{"indices":[0]},"hide":false}','d6d300595ae7b3ebc35113e89946ff16',0,'v4-16','',1,1,3,0,0,1,0,0,1,0,0,'',0,NULL,0,0);
CREATE TABLE zones (
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
    );
INSERT INTO "zones" VALUES(1,'gcp','lab','us-central2-b',1234.5,'',3,NULL,NULL);
INSERT INTO "zones" VALUES(2,'local','','us-central2-b',NULL,'',0,NULL,NULL);
CREATE UNIQUE INDEX jobs_name ON jobs (name)
        WHERE desired NOT IN ('cancelled', 'deleted');
CREATE INDEX jobs_drafts ON jobs (created_at) WHERE published = 0;
CREATE INDEX leases_controller ON leases (controller);
CREATE INDEX slices_held ON slices (job, generation) WHERE gone_at IS NULL;
CREATE INDEX tasks_ready ON tasks (queue, accelerator, zone, rank) WHERE ready = 1;
CREATE INDEX tasks_open ON tasks (queue, accelerator, zone, ready)
        WHERE done = 0 AND failed = 0 AND removed = 0;
CREATE INDEX dependencies_of ON dependencies (dependency, task);
CREATE INDEX attempts_job ON attempts (job, id);
CREATE INDEX attempts_task ON attempts (task, id);
CREATE UNIQUE INDEX attempts_live ON attempts (job) WHERE ended_at IS NULL;
CREATE INDEX attempts_live_task ON attempts (task) WHERE ended_at IS NULL;
CREATE INDEX events_job ON events (job, id) WHERE job IS NOT NULL;
CREATE INDEX attempts_slice ON attempts (job, generation);
CREATE INDEX attempts_ended ON attempts (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX slices_gone ON slices (gone_at) WHERE gone_at IS NOT NULL;
CREATE INDEX events_reaped ON events (at) WHERE kind = 'slice.reaped';
CREATE TRIGGER tasks_added AFTER INSERT ON tasks WHEN NEW.removed = 0 BEGIN
        UPDATE queues SET tasks = tasks + 1, done = done + NEW.done WHERE id = NEW.queue;
    END;
CREATE TRIGGER tasks_changed AFTER UPDATE OF done, removed ON tasks
        WHEN OLD.done <> NEW.done OR OLD.removed <> NEW.removed BEGIN
        UPDATE queues SET tasks = tasks + OLD.removed - NEW.removed,
            done = done + NEW.done * (1 - NEW.removed) - OLD.done * (1 - OLD.removed)
        WHERE id = NEW.queue;
    END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('events',32);
INSERT INTO "sqlite_sequence" VALUES('jobs',5);
INSERT INTO "sqlite_sequence" VALUES('attempts',7);
COMMIT;
PRAGMA user_version = 4;
