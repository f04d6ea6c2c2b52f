"""Following open orders until the chain has decided."""
