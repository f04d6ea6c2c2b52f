"""OpenOcean."""
