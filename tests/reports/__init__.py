"""What people who run such systems have reported of nodes, relays and vendors, tried for real."""
