"""Simulations by eth_simulateV1: payloads, state overrides and results.

Excludes decisions about a route.
"""
