"""Tokens: metadata, the token list, what of them may be shown."""
