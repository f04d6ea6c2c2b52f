"""Pure ASGI middleware, in the order in which `quietswap.api.app` and `app.asgi` install it."""
