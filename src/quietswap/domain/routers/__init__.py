"""Rules for router calldata: what it enforces.

Accepted and refused methods, calldata decoding, known pools and 0x Settlers.

Excludes routes and quotes.
"""
