"""Clients of external services, one class per provider. They implement `quietswap.ports`."""
