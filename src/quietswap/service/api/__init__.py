"""HTTP that all resources share: routes, middleware, parsing, OpenAPI."""
