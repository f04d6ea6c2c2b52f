"""Use cases: one module per endpoint or background task."""
