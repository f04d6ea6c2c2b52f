"""Protocols of the external dependencies of the use cases. Adapters and stores implement them."""
