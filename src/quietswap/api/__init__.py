"""The HTTP API: parse the request, call a use case, build the response."""
