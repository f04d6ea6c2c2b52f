"""`eth_*` methods of a wallet's RPC URL that concern orders; excludes JSON-RPC and HTTP."""
