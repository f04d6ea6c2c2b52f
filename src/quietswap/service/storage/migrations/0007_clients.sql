-- Clients own quotes and orders, keys open the door. Each existing key becomes the one key of a client
-- with the key's own id and name. The owner that stands in quotes and orders is then already right:
-- no row of them is written, on a database of any size. Renaming a column changes only the catalog,
-- and the indexes follow.

CREATE TABLE clients (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    disabled_at_ms BIGINT
);
CREATE INDEX clients_by_name ON clients (name);

INSERT INTO clients (id, name, created_at_ms) SELECT id, name, created_at_ms FROM api_keys;

ALTER TABLE api_keys ADD COLUMN client_id TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN scope TEXT NOT NULL DEFAULT 'trade';
ALTER TABLE api_keys ADD COLUMN expires_at_ms BIGINT;
ALTER TABLE api_keys ADD COLUMN last_used_at_ms BIGINT;
UPDATE api_keys SET client_id = id;
CREATE INDEX api_keys_by_client ON api_keys (client_id);

ALTER TABLE quotes RENAME COLUMN key_id TO client_id;
ALTER TABLE orders RENAME COLUMN key_id TO client_id;
ALTER TABLE order_counts RENAME COLUMN key_id TO client_id;
