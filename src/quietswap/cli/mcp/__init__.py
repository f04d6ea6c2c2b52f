"""The Model Context Protocol server of `quietswap mcp`: a client of the HTTP API, with tools."""
