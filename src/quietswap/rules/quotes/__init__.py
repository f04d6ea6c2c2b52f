"""Quotes: records, the policy for routes, scoring, MEV figures."""
