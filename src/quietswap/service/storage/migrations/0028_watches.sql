-- expands
-- Prices that clients wait for. Amounts are decimal digits in smallest units, `condition` is atLeast or atMost.
-- `slot` is unique for each client, which limits its open watches; NULL once a watch has ended.

CREATE TABLE watches (
    watch_id TEXT PRIMARY KEY,
    client_id TEXT NOT NULL,
    slot SMALLINT,
    sell_token TEXT NOT NULL,
    buy_token TEXT NOT NULL,
    sell_amount TEXT NOT NULL,
    buy_amount TEXT NOT NULL,
    condition TEXT NOT NULL,
    state TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL,
    ended_at_ms BIGINT,
    promised TEXT,
    UNIQUE (client_id, slot)
);
CREATE INDEX watches_newest ON watches (client_id, created_at_ms DESC, watch_id DESC);
CREATE INDEX watches_open ON watches (sell_token, buy_token, sell_amount) WHERE state = 'open';
CREATE INDEX watches_expiring ON watches (expires_at_ms) WHERE state = 'open';
CREATE INDEX watches_ended ON watches (ended_at_ms) WHERE ended_at_ms IS NOT NULL;

-- Events of watches, numbered with those of orders (`events`), which the release before reads: it knows no other
-- types, and finds a gap in their place.
CREATE TABLE watch_events (
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
CREATE INDEX watch_events_by_age ON watch_events (at_ms);
