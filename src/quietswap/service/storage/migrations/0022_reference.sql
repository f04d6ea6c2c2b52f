-- What a swap was worth by the pools before its block: in the bought token's smallest units, and in wei.

ALTER TABLE orders ADD COLUMN reference TEXT;
ALTER TABLE orders ADD COLUMN reference_wei TEXT;
