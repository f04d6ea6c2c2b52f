"""Figures of the operator view: what is counted, how values are rounded, and their percentiles."""
