-- The last second in which the router executes an order's transaction; NULL if it has no deadline.

ALTER TABLE orders ADD COLUMN deadline_s BIGINT;
