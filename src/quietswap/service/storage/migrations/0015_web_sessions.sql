-- Anonymous sessions of the web page. Each has a row in `clients` and one in `api_keys` with the same id.
-- `address_hash` begins the SHA-256 of the client's address: sessions of one address are counted.

CREATE TABLE web_sessions (
    id TEXT PRIMARY KEY,
    address_hash BYTEA NOT NULL,
    expires_at_ms BIGINT NOT NULL
);
CREATE INDEX web_sessions_by_address ON web_sessions (address_hash, expires_at_ms);
CREATE INDEX web_sessions_by_end ON web_sessions (expires_at_ms);
