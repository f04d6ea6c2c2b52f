"""USD prices of tokens."""
