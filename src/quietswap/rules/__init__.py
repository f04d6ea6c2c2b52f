"""What is decided, pure: no I/O, no clock, no framework. Service, client and command share it."""
