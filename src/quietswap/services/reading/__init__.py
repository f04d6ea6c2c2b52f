"""Use cases that only read orders and balances; excludes writes."""
