"""The RPC URL of a wallet."""
