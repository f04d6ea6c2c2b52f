"""Private relays. Each submission has a RelayOutcome: accepted, refused or unknown."""
