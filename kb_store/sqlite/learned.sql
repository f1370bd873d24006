-- Learned numbers in the embedded store. Every statement may be repeated; none of it has a generation.

CREATE TABLE IF NOT EXISTS learned (
    website_id   TEXT NOT NULL,
    kind         TEXT NOT NULL,          -- transition, recovery or element
    name         TEXT NOT NULL,
    day          INTEGER NOT NULL,       -- days since the epoch; the weights below are as of it
    succeeded    REAL NOT NULL,
    failed       REAL NOT NULL,
    seen         INTEGER NOT NULL,       -- outcomes ever counted, undecayed
    timed        INTEGER NOT NULL,       -- those with a duration
    timed_weight REAL NOT NULL,
    timed_sum    REAL NOT NULL,          -- milliseconds times weight
    buckets      TEXT NOT NULL,          -- JSON: bucket -> weight
    revision     INTEGER NOT NULL DEFAULT 0,    -- the website's when this changed last
    origin       TEXT NOT NULL DEFAULT '',      -- what these counts are known as in other stores
    copied       TEXT NOT NULL DEFAULT '{}',    -- JSON: origin -> what of it was counted there
    PRIMARY KEY (website_id, kind, name)
) STRICT;

CREATE INDEX IF NOT EXISTS learned_by_revision ON learned (website_id, revision);

CREATE TABLE IF NOT EXISTS learned_outcomes (
    website_id TEXT NOT NULL,
    outcome_id TEXT NOT NULL,
    expires    REAL NOT NULL,            -- seconds since the epoch
    PRIMARY KEY (website_id, outcome_id)
) STRICT;

CREATE INDEX IF NOT EXISTS learned_outcomes_by_expiry ON learned_outcomes (expires);

CREATE TABLE IF NOT EXISTS learned_revisions (
    website_id TEXT PRIMARY KEY,
    revision   INTEGER NOT NULL,         -- grows with every change of the website's numbers
    forgotten  INTEGER NOT NULL DEFAULT 0    -- how often something was forgotten
) STRICT;
