"""Simulation of calls in the next block, for quotes and for signed transactions."""
