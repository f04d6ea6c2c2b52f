-- A page of history is read from its index alone: the orders of a wallet lie far apart in the table,
-- each in a block of its own, but side by side here. So the indexes hold all that a line shows.

DROP INDEX orders_history;
DROP INDEX orders_history_by_status;
CREATE INDEX orders_history
    ON orders (
        key_id, wallet, created_at_ms DESC, order_id DESC, kind, status, tx_hash, sell_token,
        buy_token, sell_amount, buy_amount, block_number, block_time_ms, failure_code
    )
    WHERE kind = 'swap';
CREATE INDEX orders_history_by_status
    ON orders (
        key_id, wallet, status, created_at_ms DESC, order_id DESC, kind, tx_hash, sell_token,
        buy_token, sell_amount, buy_amount, block_number, block_time_ms, failure_code
    )
    WHERE kind = 'swap';
