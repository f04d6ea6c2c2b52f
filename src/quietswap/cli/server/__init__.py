"""The granian server process with reload on SIGHUP, and the checks before its start.

Excludes click options.
"""
