"""Webhooks: their records, and the addresses that may be called."""
