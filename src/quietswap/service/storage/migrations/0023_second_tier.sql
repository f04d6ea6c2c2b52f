-- The other relay that may have an order's bytes, too; NULL if only the relay of `tier` has them.

ALTER TABLE orders ADD COLUMN second_tier SMALLINT;
