"""Server-sent events over ASGI. Excludes the choice of the events."""
