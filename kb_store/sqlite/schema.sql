-- The embedded store, format 2 (PRAGMA user_version). Every statement may be repeated.

CREATE TABLE IF NOT EXISTS websites (
    website_id        TEXT PRIMARY KEY,
    last_generation   INTEGER NOT NULL,  -- never used again, so that no two loads share one
    active_generation INTEGER,           -- the commit point: what readers see
    loaded_at         TEXT,
    schema_version    INTEGER,
    counts            TEXT,              -- JSON: what was written, to tell a whole one from a torn one
    records_under     INTEGER,           -- the generation that the active one's records have; NULL: its own
    changed           TEXT,              -- JSON: generation of records -> the last one that changed them in place
    lease_token       TEXT,
    lease_generation  INTEGER,
    lease_owner       TEXT,              -- JSON
    lease_expires     REAL               -- seconds since the epoch
) STRICT;

CREATE TABLE IF NOT EXISTS pins (
    token      TEXT PRIMARY KEY,
    website_id TEXT NOT NULL,
    generation INTEGER NOT NULL,
    expires    REAL NOT NULL,
    records_under INTEGER
) STRICT;

CREATE TABLE IF NOT EXISTS documents (
    website_id TEXT NOT NULL,
    generation INTEGER NOT NULL,
    kind       TEXT NOT NULL,
    local_id   TEXT NOT NULL,
    body       TEXT NOT NULL,            -- JSON
    PRIMARY KEY (website_id, generation, kind, local_id)
) STRICT;

CREATE TABLE IF NOT EXISTS vertices (
    website_id TEXT NOT NULL,
    generation INTEGER NOT NULL,
    kind       TEXT NOT NULL,
    local_id   TEXT NOT NULL,
    body       TEXT NOT NULL,
    PRIMARY KEY (website_id, generation, kind, local_id)
) STRICT;

CREATE TABLE IF NOT EXISTS edges (
    website_id  TEXT NOT NULL,
    generation  INTEGER NOT NULL,
    kind        TEXT NOT NULL,
    local_id    TEXT NOT NULL,
    source_kind TEXT NOT NULL,
    source_id   TEXT NOT NULL,
    target_kind TEXT NOT NULL,
    target_id   TEXT NOT NULL,
    body        TEXT NOT NULL,
    PRIMARY KEY (website_id, generation, kind, local_id)
) STRICT;
