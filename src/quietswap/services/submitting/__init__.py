"""Use cases that check, store and send signed transactions.

They end when the relay response is stored.
"""
