"""EIP-1559 transactions: unsigned fields, signed bytes, gas limits and fees.

Excludes quotes and orders.
"""
