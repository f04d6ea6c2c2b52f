-- What the operator view shows and changes: sources that an operator paused, figures of all processes,
-- and what each process says of itself.

CREATE TABLE paused_sources (
    name TEXT PRIMARY KEY,
    paused_at_ms BIGINT NOT NULL,
    paused_by TEXT NOT NULL,
    reason TEXT NOT NULL
);

-- How often something had a value within ten minutes from `bucket_ms` on. `value` is rounded, so that
-- the number of rows of a bucket is bounded, whatever the number of orders.
CREATE TABLE operator_figures (
    measure TEXT NOT NULL,
    bucket_ms BIGINT NOT NULL,
    subject TEXT NOT NULL,
    detail TEXT NOT NULL,
    value BIGINT NOT NULL,
    n BIGINT NOT NULL,
    PRIMARY KEY (measure, bucket_ms, subject, detail, value)
);
-- postgresql: ALTER TABLE operator_figures SET (fillfactor = 50);

CREATE TABLE service_processes (
    process_id TEXT PRIMARY KEY,
    seen_at_ms BIGINT NOT NULL,
    changes BIGINT NOT NULL,
    state TEXT NOT NULL
);
-- postgresql: ALTER TABLE service_processes SET (fillfactor = 50);

-- The orders of a wallet over all clients. As an expression, no other statement's plan can choose it.
CREATE INDEX orders_of_any_client ON orders (lower(wallet), created_at_ms, order_id);
-- Clients without the sessions of the wallet page, which are many.
CREATE INDEX clients_by_age ON clients (created_at_ms, id) WHERE substr(id, 1, 4) <> 'web_';
