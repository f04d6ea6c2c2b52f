"""Solidity sources, compiled artifacts, ABI coding, addresses, tokens, pools and accounts."""
