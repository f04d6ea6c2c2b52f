"""The local chain: anvil, genesis, mining, mempool, simulation and transactions. No HTTP."""
