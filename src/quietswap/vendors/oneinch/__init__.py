"""1inch."""
