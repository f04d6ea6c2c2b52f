"""The rules of the service as pure values and functions: no I/O, no clock, no framework."""
