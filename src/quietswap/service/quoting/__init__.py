"""Quotes of swaps and wraps, and indicative prices."""
