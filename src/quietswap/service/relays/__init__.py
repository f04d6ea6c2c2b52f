"""Private relays: one file for each kind."""
