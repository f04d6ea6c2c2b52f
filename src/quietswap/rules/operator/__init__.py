"""Operators and the figures of their view."""
