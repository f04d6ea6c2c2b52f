"""Webhooks: their management, signature and delivery."""
