"""Flows of the client as generators without I/O: swap, wrap, cancel and approval.

Also polling, and the checks before signing. HTTP and JSON are not here."""
