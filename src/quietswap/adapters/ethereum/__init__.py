"""The ChainReader port on the operator's nodes; excludes raw HTTP."""
