"""Transactions: addresses and hashes, unsigned and signed transactions, fees and gas limits."""
