-- Signed bytes are dropped some time after their order is final: remember since when it is.

ALTER TABLE order_bytes ADD COLUMN final_at_ms BIGINT;

UPDATE order_bytes SET final_at_ms = (
    SELECT COALESCE(MAX(e.at_ms), MAX(o.created_at_ms))
    FROM orders o LEFT JOIN order_events e ON e.order_id = o.order_id
    WHERE o.order_id = order_bytes.order_id
)
WHERE order_id IN (SELECT order_id FROM orders WHERE watched = 0);

CREATE INDEX order_bytes_final ON order_bytes (final_at_ms) WHERE final_at_ms IS NOT NULL;
