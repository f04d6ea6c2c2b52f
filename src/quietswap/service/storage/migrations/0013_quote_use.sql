-- One quote pays once: the first order of a quote fixes the nonce at which it may be spent.

ALTER TABLE quotes ADD COLUMN used_nonce TEXT;
ALTER TABLE orders ADD COLUMN quote_id TEXT;
