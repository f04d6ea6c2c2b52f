"""Watches: prices that clients wait for, asked of the service's own source."""
