"""Tables, console, progress, error messages and exit codes.

Excludes HTTP calls and click options."""
