"""What a node returns: records of blocks, receipts and simulations, and the JSON-RPC wire."""
