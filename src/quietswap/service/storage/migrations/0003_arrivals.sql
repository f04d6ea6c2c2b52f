-- What the tracker may not know yet: the API writes pending, submitted and failed orders, and the
-- tracker moves what it has seen on, so that these rows stay few however many orders are alive.

CREATE INDEX orders_arrivals ON orders (watched, status, order_id, version)
    WHERE watched = 1 AND status IN ('pending', 'submitted', 'failed');
