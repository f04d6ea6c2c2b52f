"""Ethereum: node, tokens' standard calls, simulation, transactions."""
