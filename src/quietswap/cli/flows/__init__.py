"""Interactive swap, wrap and cancel flows at a terminal, and what they print after an early end.

Excludes click options."""
