"""Solidity sources, compiled artifacts, ABI coding, addresses, tokens, pools, feeds and accounts.

Excludes calls to a node."""
