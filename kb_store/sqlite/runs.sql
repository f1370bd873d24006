-- The run-time shelves in the embedded store (PACTS 9). Every statement may be repeated.
-- Times are ISO 8601 in UTC with milliseconds, so that they sort as text; `expires` is seconds
-- since the epoch, read by every query and swept by every write.

CREATE TABLE IF NOT EXISTS runs (
    run_id      TEXT PRIMARY KEY,
    req_id      TEXT,
    url         TEXT NOT NULL,
    verdict     TEXT CHECK (verdict IN ('pass', 'fail', 'partial')),
    started_at  TEXT NOT NULL,
    finished_at TEXT,
    heal_rounds INTEGER NOT NULL,
    rca_class   TEXT,
    rca_message TEXT,
    website_id  TEXT NOT NULL,
    kind        TEXT NOT NULL,
    subject     TEXT NOT NULL,
    status      TEXT,
    evidence    TEXT,
    duration_ms REAL,
    outputs     TEXT NOT NULL,            -- JSON
    error       TEXT,
    hint        TEXT,
    workflow_version TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS runs_by_start ON runs (started_at DESC, run_id);
CREATE INDEX IF NOT EXISTS runs_by_website ON runs (website_id, started_at DESC);
CREATE INDEX IF NOT EXISTS runs_by_requirement ON runs (req_id, started_at DESC);

CREATE TABLE IF NOT EXISTS run_steps (
    run_id        TEXT NOT NULL,
    step_idx      INTEGER NOT NULL,
    element       TEXT,
    action        TEXT NOT NULL,
    selector      TEXT,
    strategy      TEXT,
    confidence    REAL,
    status        TEXT NOT NULL CHECK (status IN ('success', 'skipped', 'failed')),
    heal_round    INTEGER NOT NULL,
    error_message TEXT,
    executed_at   TEXT NOT NULL,
    task_id       TEXT NOT NULL,
    step_id       TEXT NOT NULL,
    screen_id     TEXT,
    duration_ms   REAL NOT NULL,
    PRIMARY KEY (run_id, step_idx)
) STRICT;

CREATE TABLE IF NOT EXISTS artifacts (
    run_id        TEXT NOT NULL,
    name          TEXT NOT NULL,
    artifact_type TEXT NOT NULL,
    file_path     TEXT,
    content_ref   TEXT,
    file_hash     TEXT NOT NULL,
    size_bytes    INTEGER NOT NULL,
    created_at    TEXT NOT NULL,
    PRIMARY KEY (run_id, name)
) STRICT;

CREATE TABLE IF NOT EXISTS metrics (
    run_id       TEXT NOT NULL,
    metric_id    TEXT NOT NULL,
    metric_name  TEXT NOT NULL,
    metric_value REAL NOT NULL,
    recorded_at  TEXT NOT NULL,
    PRIMARY KEY (run_id, metric_id)
) STRICT;

CREATE TABLE IF NOT EXISTS journal (
    run_id       TEXT NOT NULL,
    key          TEXT NOT NULL,
    action       TEXT NOT NULL,
    details      TEXT NOT NULL,           -- JSON
    begun_at     TEXT NOT NULL,
    outcome      TEXT CHECK (outcome IN ('happened', 'did_not_happen')),
    concluded_at TEXT,
    PRIMARY KEY (run_id, key)
) STRICT;

CREATE TABLE IF NOT EXISTS checkpoints (
    run_id     TEXT NOT NULL,
    name       TEXT NOT NULL,
    step_idx   INTEGER NOT NULL,
    state      TEXT NOT NULL,             -- JSON
    created_at TEXT NOT NULL,
    expires    REAL NOT NULL,
    PRIMARY KEY (run_id, name)
) STRICT;
CREATE INDEX IF NOT EXISTS checkpoints_by_expiry ON checkpoints (expires);

CREATE TABLE IF NOT EXISTS locators (
    website_id TEXT NOT NULL,
    url        TEXT NOT NULL,
    element    TEXT NOT NULL,
    selector   TEXT NOT NULL,             -- JSON
    confidence REAL NOT NULL,
    expires    REAL NOT NULL,
    PRIMARY KEY (website_id, url, element)
) STRICT;
CREATE INDEX IF NOT EXISTS locators_by_expiry ON locators (expires);

CREATE TABLE IF NOT EXISTS heal_counters (
    run_id   TEXT NOT NULL,
    selector TEXT NOT NULL,
    count    INTEGER NOT NULL,
    expires  REAL NOT NULL,
    PRIMARY KEY (run_id, selector)
) STRICT;
CREATE INDEX IF NOT EXISTS heal_counters_by_expiry ON heal_counters (expires);

CREATE TABLE IF NOT EXISTS events (
    run_id  TEXT NOT NULL,
    seq     INTEGER NOT NULL,
    type    TEXT NOT NULL,
    data    TEXT NOT NULL,                -- JSON
    at      TEXT NOT NULL,
    expires REAL NOT NULL,
    PRIMARY KEY (run_id, seq)
) STRICT;
CREATE INDEX IF NOT EXISTS events_by_expiry ON events (expires);

CREATE TABLE IF NOT EXISTS rates (
    client_id TEXT PRIMARY KEY,
    minute    INTEGER NOT NULL,           -- minutes since the epoch
    current   INTEGER NOT NULL,           -- requests in that minute
    previous  INTEGER NOT NULL,           -- and in the one before it
    expires   REAL NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS rates_by_expiry ON rates (expires);

CREATE TABLE IF NOT EXISTS lessons (
    website_id TEXT NOT NULL,
    screen_id  TEXT NOT NULL,
    task_id    TEXT NOT NULL,
    step_id    TEXT NOT NULL,
    approach   TEXT NOT NULL,
    worked     INTEGER NOT NULL,
    failed     INTEGER NOT NULL,
    worked_at  TEXT,
    failed_at  TEXT,
    error      TEXT,
    expires    REAL NOT NULL,
    PRIMARY KEY (website_id, screen_id, task_id, step_id, approach)
) STRICT;
CREATE INDEX IF NOT EXISTS lessons_by_expiry ON lessons (expires);

CREATE TABLE IF NOT EXISTS kept_values (
    website_id TEXT NOT NULL,
    person     TEXT NOT NULL,             -- a digest of the account
    name       TEXT NOT NULL,
    value      TEXT NOT NULL,             -- JSON
    task_id    TEXT NOT NULL,
    kept_at    TEXT NOT NULL,
    expires    REAL NOT NULL,
    PRIMARY KEY (website_id, person, name)
) STRICT;
CREATE INDEX IF NOT EXISTS kept_values_by_expiry ON kept_values (expires);

CREATE TABLE IF NOT EXISTS run_leases (
    run_id  TEXT PRIMARY KEY,
    token   TEXT NOT NULL,
    owner   TEXT NOT NULL,                -- JSON
    expires REAL NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS service_records (
    kind     TEXT NOT NULL,
    key      TEXT NOT NULL,
    state    TEXT NOT NULL,
    owner    TEXT NOT NULL,               -- the schedule of a job, the webhook of a delivery
    at       TEXT NOT NULL,
    revision INTEGER NOT NULL,
    body     TEXT NOT NULL,               -- JSON
    PRIMARY KEY (kind, key)
) STRICT;
CREATE INDEX IF NOT EXISTS service_records_by_state ON service_records (kind, state, at);
CREATE INDEX IF NOT EXISTS service_records_by_owner ON service_records (kind, owner, at);
