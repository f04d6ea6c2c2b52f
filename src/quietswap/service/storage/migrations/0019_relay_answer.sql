-- The words of a relay whose last answer did not take the order: foreign text, made harmless. A line of
-- history shows them, so the indexes that hold the lines are made anew.

ALTER TABLE orders ADD COLUMN relay_answer TEXT;
DROP INDEX orders_history;
DROP INDEX orders_history_by_status;
-- sqlite: ALTER TABLE orders DROP COLUMN history_line;
-- sqlite: ALTER TABLE orders ADD COLUMN history_line TEXT GENERATED ALWAYS AS (
-- sqlite:     json_array(
-- sqlite:         order_id, status, tx_hash, created_at_ms, sell_token, buy_token, sell_amount,
-- sqlite:         buy_amount, block_number, block_time_ms, failure_code, kind, relay_answer
-- sqlite:     ) || ''
-- sqlite: ) VIRTUAL;
-- sqlite: CREATE INDEX orders_history
-- sqlite:     ON orders (client_id, wallet, created_at_ms DESC, order_id DESC, history_line)
-- sqlite:     WHERE kind = 'swap';
-- sqlite: CREATE INDEX orders_history_by_status
-- sqlite:     ON orders (client_id, wallet, status, created_at_ms DESC, order_id DESC, history_line)
-- sqlite:     WHERE kind = 'swap';
-- postgresql: CREATE INDEX orders_history
-- postgresql:     ON orders (
-- postgresql:         client_id, wallet, created_at_ms DESC, order_id DESC, kind, status, tx_hash,
-- postgresql:         sell_token, buy_token, sell_amount, buy_amount, block_number, block_time_ms,
-- postgresql:         failure_code, relay_answer
-- postgresql:     )
-- postgresql:     WHERE kind = 'swap';
-- postgresql: CREATE INDEX orders_history_by_status
-- postgresql:     ON orders (
-- postgresql:         client_id, wallet, status, created_at_ms DESC, order_id DESC, kind, tx_hash,
-- postgresql:         sell_token, buy_token, sell_amount, buy_amount, block_number, block_time_ms,
-- postgresql:         failure_code, relay_answer
-- postgresql:     )
-- postgresql:     WHERE kind = 'swap';
