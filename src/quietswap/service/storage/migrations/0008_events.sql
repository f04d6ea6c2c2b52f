-- Outbox: what each client is told about its orders, written with the change of the order.
-- `record` is JSON: the status record as that change left it. Nothing is ever updated here.

CREATE TABLE events (
    client_id TEXT NOT NULL,
    sequence BIGINT NOT NULL,
    event_id TEXT NOT NULL,
    type TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    wallet TEXT NOT NULL,
    depth BIGINT NOT NULL,
    finalized SMALLINT NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (client_id, sequence)
);
CREATE INDEX events_by_age ON events (at_ms);

-- The last number of each client. Its row is locked until the commit, so that the numbers of a client
-- have no gap and become visible in their order.
CREATE TABLE event_counters (
    client_id TEXT PRIMARY KEY,
    sequence BIGINT NOT NULL
);
-- postgresql: ALTER TABLE event_counters SET (fillfactor = 50);
