"""Reading of requests."""
