"""What runs as a server. Features are above node, relays and storage; `server` is above all."""
