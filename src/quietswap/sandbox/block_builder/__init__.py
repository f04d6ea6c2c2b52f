"""Contents and order of the next block; excludes the relay protocol."""
