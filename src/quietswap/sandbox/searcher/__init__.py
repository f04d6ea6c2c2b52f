"""A searcher that sandwiches public swaps; excludes block building."""
