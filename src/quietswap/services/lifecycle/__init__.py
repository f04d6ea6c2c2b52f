"""Functions that change or send a stored order, shared by submitting and tracking.

Excludes use cases.
"""
