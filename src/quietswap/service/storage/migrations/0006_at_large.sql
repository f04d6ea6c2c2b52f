-- Orders a relay had and refused, or that expired, may be mined until their nonce is used: they are
-- watched for days. So a block asks only for the failed ones it cannot know yet, and a quote finds
-- the nonces that such orders hold.

DROP INDEX orders_arrivals;
CREATE INDEX orders_arrivals ON orders (watched, status, order_id, version)
    WHERE watched = 1 AND status IN ('pending', 'submitted');
CREATE INDEX orders_failed ON orders (expires_at_ms, order_id, version, watched, status)
    WHERE watched = 1 AND status = 'failed';
CREATE INDEX orders_at_large ON orders (wallet, key_id)
    WHERE watched = 1 AND failure_code IN ('REFUSED', 'EXPIRED');
