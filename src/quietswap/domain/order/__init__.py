"""The order state machine, the checks of a submission and the read models of an order.

Excludes block tracking.
"""
