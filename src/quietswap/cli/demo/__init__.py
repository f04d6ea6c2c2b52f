"""The steps, comparison and report of `quietswap demo`, and its sandbox process.

Excludes click options."""
