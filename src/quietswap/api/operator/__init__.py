"""The operator view at /operator: login, pages, actions. Server-rendered, with a tiny script."""
