"""JSON-RPC 2.0 for wallets: allow-listed reads from the operator's node, and private sends."""
