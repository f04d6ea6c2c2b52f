-- People who may open the operator view, and their sessions in a browser. Secrets are stored as their
-- SHA-256 only. A name belongs to one live operator, so that it says who did something.

CREATE TABLE operators (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    secret_hash BYTEA NOT NULL UNIQUE,
    created_at_ms BIGINT NOT NULL,
    revoked_at_ms BIGINT,
    last_login_at_ms BIGINT
);
CREATE UNIQUE INDEX operators_live_name ON operators (name) WHERE revoked_at_ms IS NULL;

CREATE TABLE operator_sessions (
    secret_hash BYTEA PRIMARY KEY,
    operator_id TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL
);
CREATE INDEX operator_sessions_by_expiry ON operator_sessions (expires_at_ms);
CREATE INDEX operator_sessions_by_operator ON operator_sessions (operator_id);
