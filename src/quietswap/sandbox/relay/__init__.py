"""The private relay and its transaction pool; excludes block building."""
