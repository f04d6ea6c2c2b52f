"""Registry of faults, active faults, HTTP faults and the component server that applies them.

Excludes what a single component does.
"""
