"""Simulations by eth_simulateV1, for service and client: the simulated block, calls and results."""
