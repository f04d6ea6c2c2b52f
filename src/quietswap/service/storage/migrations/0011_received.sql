-- What a mined order brought, its refund and its source, beside the block that included it. Orders of
-- older releases have none of it. delivered_bps is received against buy_amount, for statistics.

ALTER TABLE orders ADD COLUMN source TEXT;
ALTER TABLE orders ADD COLUMN received TEXT;
ALTER TABLE orders ADD COLUMN received_issue TEXT;
ALTER TABLE orders ADD COLUMN delivered_bps BIGINT;
ALTER TABLE orders ADD COLUMN refund_status TEXT;
ALTER TABLE orders ADD COLUMN refund_wei TEXT;
ALTER TABLE orders ADD COLUMN refund_tx TEXT;

-- Statistics and exports read in order of time. Their columns never change, so a status change does
-- not rewrite these entries in SQLite.
CREATE INDEX orders_by_time ON orders (client_id, created_at_ms, order_id);
CREATE INDEX orders_of_wallet ON orders (client_id, wallet, created_at_ms, order_id);
