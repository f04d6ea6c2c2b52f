"""The outside world: one class per provider, behind the protocols of `quietswap.ports`."""
