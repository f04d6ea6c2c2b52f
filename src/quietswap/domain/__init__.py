"""The rules of the service: pure values and functions, no I/O, no clock, no framework."""
