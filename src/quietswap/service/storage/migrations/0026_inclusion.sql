-- expands
-- What an order offered for gas, and what the block that has it says of itself: base fee in wei, gas used of
-- its gas limit in basis points, and its builder. NULL for orders of older releases.

ALTER TABLE orders ADD COLUMN fee_cap TEXT;
ALTER TABLE orders ADD COLUMN priority_fee TEXT;
ALTER TABLE orders ADD COLUMN base_fee TEXT;
ALTER TABLE orders ADD COLUMN fullness_bps BIGINT;
ALTER TABLE orders ADD COLUMN builder TEXT;

-- What was mined or expired within a window of time, for all clients.
CREATE INDEX orders_mined ON orders (block_time_ms, order_id) WHERE block_number IS NOT NULL;
CREATE INDEX orders_expired ON orders (expires_at_ms) WHERE failure_code = 'EXPIRED';
