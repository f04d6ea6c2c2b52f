-- One text for SQLite and PostgreSQL. A line that starts with `-- postgresql:` runs there only.
-- Amounts are decimal TEXT (uint256), times BIGINT Unix milliseconds, flags SMALLINT 0 or 1.
-- SQLite keeps blobs unchanged in a column of any type, so BYTEA serves both.

CREATE TABLE api_keys (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    secret_hash BYTEA NOT NULL UNIQUE,
    created_at_ms BIGINT NOT NULL,
    revoked_at_ms BIGINT
);

CREATE TABLE quotes (
    quote_id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    key_id TEXT NOT NULL,
    wallet TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    target TEXT NOT NULL,
    data BYTEA NOT NULL,
    value TEXT NOT NULL,
    gas_limit BIGINT NOT NULL,
    max_fee_per_gas TEXT NOT NULL,
    nonce TEXT,
    endpoint_type TEXT NOT NULL,
    share_mode TEXT NOT NULL,
    tier SMALLINT NOT NULL,
    issued_at_ms BIGINT NOT NULL,
    valid_until_ms BIGINT NOT NULL,
    metadata TEXT NOT NULL,
    terms TEXT NOT NULL
);
CREATE INDEX quotes_by_fingerprint ON quotes (fingerprint, wallet, issued_at_ms DESC);
CREATE INDEX quotes_by_wallet ON quotes (key_id, wallet, kind, issued_at_ms DESC);
CREATE INDEX quotes_by_age ON quotes (issued_at_ms);

CREATE TABLE orders (
    order_id TEXT PRIMARY KEY,
    key_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    wallet TEXT NOT NULL,
    nonce TEXT NOT NULL,
    tx_hash TEXT NOT NULL UNIQUE,
    sell_token TEXT NOT NULL,
    buy_token TEXT NOT NULL,
    sell_amount TEXT NOT NULL,
    min_buy_amount TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    status TEXT NOT NULL,
    buy_amount TEXT NOT NULL,
    tier SMALLINT NOT NULL,
    endpoint_type TEXT NOT NULL,
    share_mode TEXT NOT NULL,
    expires_at_ms BIGINT NOT NULL,
    watch_until_ms BIGINT NOT NULL,
    submitted_at_ms BIGINT,
    submitted_head BIGINT,
    sent_head BIGINT,
    attempts BIGINT NOT NULL,
    block_number BIGINT,
    block_hash TEXT,
    gas_used BIGINT,
    effective_gas_price TEXT,
    block_time_ms BIGINT,
    succeeded SMALLINT,
    failure_code TEXT,
    failure_message TEXT,
    watched SMALLINT NOT NULL,
    version BIGINT NOT NULL
);
-- `kind` is always the same in these two; SQLite reads the rows unless it stands in the index.
CREATE INDEX orders_history
    ON orders (key_id, wallet, created_at_ms DESC, order_id DESC, kind)
    WHERE kind = 'swap';
CREATE INDEX orders_history_by_status
    ON orders (key_id, wallet, status, created_at_ms DESC, order_id DESC, kind)
    WHERE kind = 'swap';
CREATE INDEX orders_watched ON orders (order_id) WHERE watched = 1;
CREATE INDEX orders_open ON orders (wallet) WHERE status IN ('pending', 'submitted', 'mining');
-- Deep offsets are index-only scans as long as vacuum keeps the visibility map fresh.
-- postgresql: ALTER TABLE orders SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);

-- The signed bytes live beside the order, so that a status change does not copy them and a page of
-- history does not read past them.
CREATE TABLE order_bytes (
    order_id TEXT PRIMARY KEY,
    raw BYTEA NOT NULL
);

CREATE TABLE order_events (
    order_id TEXT NOT NULL,
    version BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    sighting TEXT NOT NULL,
    from_status TEXT,
    to_status TEXT NOT NULL,
    evidence TEXT NOT NULL,
    PRIMARY KEY (order_id, version)
);

-- How many swap orders a key has for a wallet, by status: `total` is read here, never counted.
CREATE TABLE order_counts (
    key_id TEXT NOT NULL,
    wallet TEXT NOT NULL,
    status TEXT NOT NULL,
    n BIGINT NOT NULL,
    PRIMARY KEY (key_id, wallet, status)
);
-- Half-empty pages let PostgreSQL rewrite a counter in place, without touching its index.
-- postgresql: ALTER TABLE order_counts SET (fillfactor = 50);
