"""Orders, issued quotes, API keys and rate windows, on SQLite or PostgreSQL with one SQL text."""
