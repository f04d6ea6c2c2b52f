"""Webhooks: what may be called, what is sent, and that every event arrives."""
