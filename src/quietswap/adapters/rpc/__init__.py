"""Ethereum JSON-RPC: client, node choice, wire formats, Multicall3 and ERC-20 calls.

Excludes quotes and orders.
"""
