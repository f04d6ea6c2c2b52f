"""The local chain: anvil, genesis, mining, mempool, simulation and transactions.

Excludes private transactions and HTTP components."""
