"""HTTP server, JSON-RPC server and JSON-RPC client of the sandbox; excludes faults."""
