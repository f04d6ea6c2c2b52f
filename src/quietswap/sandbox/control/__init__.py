"""The HTTP control API of the sandbox: faults, blocks, reorgs and reports.

Excludes the work itself.
"""
