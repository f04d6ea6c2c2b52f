-- expands
-- The few swaps whose transaction wrapped or unwrapped ETH: a page of history finds what it did in this index.

CREATE INDEX orders_converted ON orders (order_id, conversion) WHERE conversion IS NOT NULL;
