"""Pure rules that derive order transitions from blocks and receipts.

Excludes database and node calls.
"""
