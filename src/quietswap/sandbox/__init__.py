"""The sandbox: a miniature mainnet with its venues, relay, builder and searcher."""
