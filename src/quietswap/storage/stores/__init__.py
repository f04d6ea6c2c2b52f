"""Repositories of orders, quotes and keys with one SQL text for both databases.

Excludes connections.
"""
