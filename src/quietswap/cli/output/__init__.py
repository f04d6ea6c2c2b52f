"""Tables, console, progress, error messages and exit codes."""
