"""Stand-ins of the vendors: each has its vendor's HTTP protocol and the sandbox's pools."""
