-- Webhooks of clients, and each try to deliver an event. `events` is a list of types separated by
-- commas, empty for all. `secret` is encrypted with a key of the settings. `cursor` is the sequence
-- of the last event that needs no delivery any more, `failures` the failed tries of the next one.
-- `slot` is unique for each client, which limits the number of its webhooks. The ids of deliveries
-- sort by time.

CREATE TABLE webhooks (
    webhook_id TEXT PRIMARY KEY,
    client_id TEXT NOT NULL,
    slot SMALLINT NOT NULL,
    url TEXT NOT NULL,
    events TEXT NOT NULL,
    description TEXT,
    secret BYTEA NOT NULL,
    state TEXT NOT NULL,
    disabled_reason TEXT,
    cursor BIGINT NOT NULL,
    failures SMALLINT NOT NULL,
    next_try_ms BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    UNIQUE (client_id, slot)
);
CREATE INDEX webhooks_due ON webhooks (next_try_ms) WHERE state = 'active';

CREATE TABLE webhook_deliveries (
    delivery_id TEXT PRIMARY KEY,
    webhook_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    sequence BIGINT NOT NULL,
    attempt SMALLINT NOT NULL,
    at_ms BIGINT NOT NULL,
    ms BIGINT NOT NULL,
    status SMALLINT,
    error TEXT
);
CREATE INDEX webhook_deliveries_newest ON webhook_deliveries (webhook_id, delivery_id DESC);
CREATE INDEX webhook_deliveries_by_age ON webhook_deliveries (at_ms);
