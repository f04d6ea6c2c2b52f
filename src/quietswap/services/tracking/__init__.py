"""Follows open orders on the chain; only the elected leader runs it.

Excludes the rules, which are in domain/tracking.
"""
