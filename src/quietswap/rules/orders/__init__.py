"""Orders: their state table, the checks before submission, comparison, nonces, records."""
