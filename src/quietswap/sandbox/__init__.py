"""The sandbox: a local mainnet with aggregators, relay, block builder and searcher."""
