-- expands
-- What a swap's transaction did with ETH: 'wrap' of what was sold, 'unwrap' of the minimum; NULL: nothing.

ALTER TABLE orders ADD COLUMN conversion TEXT;
