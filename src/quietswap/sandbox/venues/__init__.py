"""Stand-ins for the aggregators: each has a vendor's HTTP protocol and the sandbox's pools."""
