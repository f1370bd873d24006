-- Proposed changes in the embedded store. Every statement may be repeated; none of it has a generation.

CREATE TABLE IF NOT EXISTS proposals (
    website_id  TEXT NOT NULL,
    proposal_id TEXT NOT NULL,
    status      TEXT NOT NULL,
    decided_at  TEXT,                    -- ISO 8601
    body        TEXT NOT NULL,           -- JSON: the proposal as it was made
    PRIMARY KEY (website_id, proposal_id)
) STRICT;

CREATE TABLE IF NOT EXISTS proposal_supports (
    website_id  TEXT NOT NULL,
    proposal_id TEXT NOT NULL,
    run_id      TEXT NOT NULL,
    body        TEXT NOT NULL,           -- JSON
    PRIMARY KEY (website_id, proposal_id, run_id)
) STRICT;

CREATE TABLE IF NOT EXISTS element_fingerprints (
    website_id TEXT NOT NULL,
    screen_id  TEXT NOT NULL,
    element_id TEXT NOT NULL,
    body       TEXT NOT NULL,            -- JSON: what is known of the element
    PRIMARY KEY (website_id, screen_id, element_id)
) STRICT;

CREATE TABLE IF NOT EXISTS proposal_revisions (
    website_id TEXT PRIMARY KEY,
    revision   INTEGER NOT NULL          -- grows with every change of the website's proposals
) STRICT;
