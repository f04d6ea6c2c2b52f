"""Bodies of requests and responses, declared once for API, client and OpenAPI."""
