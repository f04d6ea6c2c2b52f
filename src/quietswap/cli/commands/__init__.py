"""One module per command: its options and one call. Excludes output formats and prompts."""
