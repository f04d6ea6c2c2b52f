"""Rules and values of a quote: routes, scores, price impact, MEV risk, relay settings and checks.

Excludes orders.
"""
