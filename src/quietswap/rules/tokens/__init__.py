"""Tokens: addresses, the token list, look-alikes, the calls of ERC-20."""
