-- Limits of clients, what they used on each UTC day, and the log of the administrators' actions.
-- USD amounts are cents, lists of addresses are JSON.

CREATE TABLE client_limits (
    client_id TEXT PRIMARY KEY,
    requests_per_minute BIGINT,
    quotes_per_day BIGINT,
    open_orders BIGINT,
    usd_cents_per_swap BIGINT,
    usd_cents_per_day BIGINT,
    wallets TEXT NOT NULL,
    tokens TEXT NOT NULL
);

CREATE TABLE client_usage (
    client_id TEXT NOT NULL,
    day BIGINT NOT NULL,
    quotes BIGINT NOT NULL,
    orders BIGINT NOT NULL,
    usd_cents BIGINT NOT NULL,
    PRIMARY KEY (client_id, day)
);
-- Half-empty pages let PostgreSQL rewrite a counter in place, without touching its index.
-- postgresql: ALTER TABLE client_usage SET (fillfactor = 50);

ALTER TABLE orders ADD COLUMN usd_cents BIGINT;
CREATE INDEX orders_open_of_client ON orders (client_id)
    WHERE status IN ('pending', 'submitted', 'mining');

CREATE TABLE audit_log (
    id TEXT PRIMARY KEY,
    at_ms BIGINT NOT NULL,
    actor TEXT NOT NULL,
    event TEXT NOT NULL,
    details TEXT NOT NULL
);
CREATE INDEX audit_log_by_time ON audit_log (at_ms, id);
-- sqlite: CREATE TRIGGER audit_log_no_update BEFORE UPDATE ON audit_log BEGIN SELECT RAISE(ABORT, 'audit_log is append-only'); END;
-- sqlite: CREATE TRIGGER audit_log_no_delete BEFORE DELETE ON audit_log BEGIN SELECT RAISE(ABORT, 'audit_log is append-only'); END;
-- postgresql: CREATE FUNCTION audit_log_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'audit_log is append-only'; END $$;
-- postgresql: CREATE TRIGGER audit_log_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION audit_log_is_append_only();
