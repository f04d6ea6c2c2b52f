"""Webhooks: what clients may set up, and the delivery of events to them."""
