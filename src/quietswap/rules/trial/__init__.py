"""The trial of a transaction in the next block: how it is written and read."""
