"""Private relays: each answers accepted, refused or silent, never anything in between."""
