-- RPC URLs of wallets. The secret in the URL is stored as its SHA-256 only. `wallets` holds checksummed
-- addresses, separated by spaces.

CREATE TABLE wallet_rpc_tokens (
    id TEXT PRIMARY KEY,
    client_id TEXT NOT NULL,
    key_id TEXT NOT NULL,
    name TEXT NOT NULL,
    wallets TEXT NOT NULL,
    unmatched TEXT NOT NULL,
    secret_hash BYTEA NOT NULL UNIQUE,
    created_at_ms BIGINT NOT NULL,
    revoked_at_ms BIGINT
);
CREATE INDEX wallet_rpc_tokens_by_client ON wallet_rpc_tokens (client_id, created_at_ms);

-- Orders of other kinds than swaps, for a page of a wallet's history: few beside the swaps.
CREATE INDEX orders_of_other_kinds
    ON orders (client_id, wallet, kind, created_at_ms DESC, order_id DESC)
    WHERE kind <> 'swap';
