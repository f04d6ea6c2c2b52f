"""Requests to the URLs of webhooks, which clients of the service name."""
