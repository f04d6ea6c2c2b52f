"""Clients of the API: keys, limits, usage."""
