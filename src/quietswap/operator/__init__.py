"""The operator's pages."""
